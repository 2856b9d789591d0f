import type { Command } from 'commander'
import { loadEnvironment } from '../../config/env.ts'
import { createTerminal } from '../commands/terminal.ts'
import { scoreTypes } from '../contract/score.ts'
import { type Choosing, choice, choosing, chosenIn, examples, jsonOption, localDay, positive, type Rim } from './rim.ts'

/** What shows how things stand, and changes nothing. */
export function declareLooking(program: Command, rim: Rim): void {
  program
    .command('doctor')
    .description('print the configuration in force, try every connection, say what to mend')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync doctor', 'vitalsync doctor --json'))
    .action(async (options: { json: boolean }) => {
      const { runDoctor } = await import('../commands/doctor.ts')
      const environment = loadEnvironment()
      const terminal = createTerminal({ json: options.json, term: environment['TERM'] })
      rim.exit(await runDoctor({ environment, terminal }))
    })
  program
    .command('status')
    .description('lag, freshness, last runs, backlog, failures by reason, budget')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync status', 'vitalsync status --json | jq .failures'))
    .action(async (options: { json: boolean }) => {
      const { status } = await import('../commands/status.ts')
      rim.exit(await status(rim.context(options)))
    })
  choosing(program.command('gaps'))
    .description('which windows are missing and why: never asked, refused, unsettled, waiting')
    .option('--limit <n>', 'how many are shown; with --json all are', positive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync gaps', 'vitalsync gaps --profile ada --stream scores'))
    .action(async (options: Choosing & { limit: number; json: boolean }) => {
      const { gaps } = await import('../commands/gaps.ts')
      rim.exit(await gaps({ ...rim.context(options), ...chosenIn(options), limit: options.limit }))
    })
  program
    .command('runs')
    .description('the last runs: cron slots and commands')
    .option('--limit <n>', 'how many', positive, 20)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync runs --limit 5'))
    .action(async (options: { limit: number; json: boolean }) => {
      const { runs } = await import('../commands/runs.ts')
      rim.exit(await runs({ ...rim.context(options), limit: options.limit }))
    })
  program
    .command('explain')
    .description('where a score comes from: factors, weights, the logs behind it (only our own service can tell)')
    .requiredOption('--profile <externalId>', 'whose score')
    .requiredOption('--date <day>', 'the local day, such as 2026-07-11', localDay)
    .addOption(choice('--score <type>', 'which score', scoreTypes).default('sleep'))
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync explain --profile ada --date 2026-07-11 --score activity'))
    .action(async (options: { profile: string; date: string; score: string; json: boolean }) => {
      const context = rim.context(options)
      const { profile: externalId, date, score } = options
      const { explain, explanationLines } = await import('../commands/explain.ts')
      const { withPipeline } = await import('../commands/open.ts')
      const found = await withPipeline(context, ({ addresses: { upstream } }) =>
        explain({ ...upstream, externalId, date, score }),
      )
      if (context.terminal.json) context.terminal.printJson(found)
      else context.terminal.print(explanationLines(found).join('\n'))
    })
}
