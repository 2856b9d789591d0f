import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption } from '../options.ts'

type EvaluateCliOptions = { account: string; json: boolean }

export function declareEvaluate(program: Command, cli: CliProcess): void {
  program
    .command('evaluate')
    .description(
      'compare what the Profile Service of DATABASE_URL derived with daily reference figures of the same people',
    )
    .argument('<file>', 'CSV with the columns externalId, date, name, value; - is standard input')
    .option('--account <name>', 'account of the profiles', 'default')
    .addOption(jsonOption('print all correlations as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync evaluate recovery.csv', 'vitalsync evaluate recovery.csv --account acme --json'),
    )
    .action(async (file: string, { json, ...options }: EvaluateCliOptions) => {
      const { runEvaluate } = await import('../../commands/service/evaluate.ts')
      cli.exit(await runEvaluate(cli.context({ json }), { file, ...options }))
    })
}
