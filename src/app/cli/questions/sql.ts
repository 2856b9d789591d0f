import type { Command } from 'commander'
import { type CliProcess, examples, jsonOption, parsePositive } from '../options.ts'

type SqlCliOptions = { limit: number; json: boolean }

export function declareSql(program: Command, cli: CliProcess): void {
  program
    .command('sql')
    .description(
      'ask the warehouse as the reader role, which may change nothing; without a statement it is read from standard input',
    )
    .argument('[statement]', 'one SQL statement')
    .option('--limit <n>', 'how many rows are shown; with --json all', parsePositive, 1000)
    .addOption(jsonOption('print one JSON object a row'))
    .addHelpText(
      'after',
      examples(
        'vitalsync sql "select * from warehouse.days limit 5"',
        'vitalsync sql --json "select * from warehouse.runs"',
      ),
    )
    .action(async (text: string | undefined, { json, limit }: SqlCliOptions) => {
      const { runSql } = await import('../../commands/questions/sql.ts')
      cli.exit(await runSql(cli.context({ json }), { text, limit }))
    })
}
