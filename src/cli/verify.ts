import type { Command } from 'commander'
import {
  type CliProcess,
  examples,
  jsonOption,
  parsePositive,
  type SelectionOptions,
  selectionOf,
  withSelectionOptions,
} from './options.ts'

type VerifyCliOptions = SelectionOptions & { sample: number; json: boolean }

export function declareVerify(program: Command, cli: CliProcess): void {
  withSelectionOptions(program.command('verify'))
    .description('read covered windows again and compare: the measured rate of silent differences')
    .option('--sample <n>', 'how many windows, chosen at random', parsePositive, 100)
    .addOption(jsonOption('print the result as JSON'))
    .addHelpText('after', examples('vitalsync verify', 'vitalsync verify --sample 1000 --stream scores'))
    .action(async ({ json, sample, ...options }: VerifyCliOptions) => {
      const { runVerify } = await import('../commands/verify.ts')
      cli.exit(await runVerify(cli.context({ json }), { ...selectionOf(options), sample }))
    })
}
