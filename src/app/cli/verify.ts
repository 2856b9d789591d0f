import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  parsePositive,
  parseWhole,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from './options.ts'

type VerifyCliOptions = SelectionOptions & { sample: number; seed?: number; mend?: boolean; json: boolean }

export function declareVerify(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('verify'))
    .description('read covered windows again and compare: the measured rate of silent differences')
    .option('--sample <n>', 'how many windows: each covered day has the same chance', parsePositive, 100)
    .option('--seed <n>', 'draws the same windows as an earlier run with this seed', parseWhole)
    .option('--mend', 'make windows that differ due again, and store them anew')
    .addOption(jsonOption('print the result as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync verify',
        'vitalsync verify --sample 1000 --stream scores',
        'vitalsync verify --sample 1000 --mend',
      ),
    )
    .action(async ({ json, sample, seed, mend = false, ...options }: VerifyCliOptions) => {
      const { runVerify } = await import('../commands/verify.ts')
      cli.exit(await runVerify(cli.context({ json }), { ...selectionOf(options), sample, seed, mend }))
    })
}
