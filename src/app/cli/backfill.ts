import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  parseDateOption,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from './options.ts'

type BackfillCliOptions = SelectionOptions & {
  from: Date
  to?: Date
  profilesFrom?: string
  again: boolean
  dryRun: boolean
  json: boolean
}

export function declareBackfill(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('backfill'))
    .description('read a range of the past, newest first; stopped anywhere, the same command resumes')
    .requiredOption('--from <date>', 'start of the range', parseDateOption)
    .option('--to <date>', 'end of the range, not included; the end of today when absent', parseDateOption)
    .option('--profiles-from <file>', 'only the profiles of this file: CSV or NDJSON with externalId')
    .option('--again', 'read covered windows too', false)
    .option('--dry-run', 'only print the plan', false)
    .addOption(jsonOption('print the finished run as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync backfill --from 2026-01-01 --to 2026-04-01',
        'vitalsync backfill --from 2025-11-01 --profiles-from cohort.csv --stream scores --dry-run',
      ),
    )
    .action(async ({ json, profile, stream, ...options }: BackfillCliOptions) => {
      const { runBackfill } = await import('../commands/backfill.ts')
      cli.exit(await runBackfill(cli.context({ json }), { ...selectionOf({ profile, stream }), ...options }))
    })
}
