import type { Command } from 'commander'
import { type Choosing, choosing, chosenIn, examples, instant, jsonOption, positive, type Rim } from './rim.ts'

type Backfill = Choosing & { from: Date; to?: Date; profilesFrom?: string; again: boolean; dryRun: boolean }

/** What brings the warehouse up to date, and what says what that would take. */
export function declareSyncing(program: Command, rim: Rim): void {
  choosing(program.command('sync'))
    .description('a nightly now, followed to its end; works by itself where no worker is running')
    .addOption(jsonOption('print the finished run as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync sync', 'vitalsync sync --profile ada --stream scores --stream biomarkers'),
    )
    .action(async (options: Choosing & { json: boolean }) => {
      const { sync } = await import('../commands/sync.ts')
      rim.exit(await sync({ ...rim.context(options), ...chosenIn(options) }))
    })
  choosing(program.command('plan'))
    .description('how many windows and requests a sync would take, or a back-fill of a range; asks nothing upstream')
    .option('--from <date>', 'start of the range of a back-fill; without it, what a sync would do', instant)
    .option('--to <date>', 'end of the range; today when absent', instant)
    .addOption(jsonOption('print the plan as JSON'))
    .addHelpText('after', examples('vitalsync plan', 'vitalsync plan --from 2026-01-01 --to 2026-04-01'))
    .action(async (options: Choosing & { from?: Date; to?: Date; json: boolean }) => {
      const { plan } = await import('../commands/plan.ts')
      rim.exit(await plan({ ...rim.context(options), ...options, ...chosenIn(options) }))
    })
  choosing(program.command('backfill'))
    .description('read a range of the past, newest first; stopped anywhere, the same command carries on')
    .requiredOption('--from <date>', 'start of the range', instant)
    .option('--to <date>', 'end of the range, not included; the end of today when absent', instant)
    .option('--profiles-from <file>', 'only the people of this file: CSV or NDJSON with externalId')
    .option('--again', 'read what is covered too', false)
    .option('--dry-run', 'only say what it would do, like plan', false)
    .addOption(jsonOption('print the finished run as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync backfill --from 2026-01-01 --to 2026-04-01',
        'vitalsync backfill --from 2025-11-01 --profiles-from cohort.csv --stream scores --dry-run',
      ),
    )
    .action(async (options: Backfill & { json: boolean }) => {
      const { from, to, profilesFrom, again, dryRun } = options
      const range = { from, to, profilesFrom, again, dryRun }
      const { backfill } = await import('../commands/backfill.ts')
      rim.exit(await backfill({ ...rim.context(options), ...chosenIn(options), ...range }))
    })
  choosing(program.command('verify'))
    .description('read covered windows anew and compare: the measured rate of silent differences')
    .option('--sample <n>', 'how many windows, chosen by chance', positive, 100)
    .addOption(jsonOption('print the result as JSON'))
    .addHelpText('after', examples('vitalsync verify', 'vitalsync verify --sample 1000 --stream scores'))
    .action(async (options: Choosing & { sample: number; json: boolean }) => {
      const { verify } = await import('../commands/verify.ts')
      rim.exit(await verify({ ...rim.context(options), ...chosenIn(options), sample: options.sample }))
    })
}
