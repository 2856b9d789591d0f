import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  parsePositive,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from '../options.ts'

type GapsCliOptions = SelectionOptions & { limit: number; all: boolean; json: boolean }

export function declareGaps(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('gaps'))
    .description('missing windows with the reasons: never asked, refused; with --all also unsettled, waiting')
    .option('--all', 'also what is merely unsettled, or waits for upstream to derive', false)
    .option('--limit <n>', 'how many are shown; with --json all', parsePositive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText(
      'after',
      examples('vitalsync gaps', 'vitalsync gaps --profile ada --stream scores', 'vitalsync gaps --all'),
    )
    .action(async ({ json, limit, all, ...options }: GapsCliOptions) => {
      const { runGaps } = await import('../../commands/questions/gaps.ts')
      cli.exit(await runGaps(cli.context({ json }), { ...selectionOf(options), limit, all }))
    })
}
