import type { Command } from 'commander'
import { type FormulaHandling, formulaHandlings } from '../../../pipeline/export/csv.ts'
import type { ExportFormat } from '../../../pipeline/export/formats.ts'
import {
  type CliProcess,
  choiceOption,
  collectStream,
  examples,
  jsonOption,
  parseDateOption,
  streamNames,
} from '../options.ts'

const formats: readonly ExportFormat[] = ['ndjson', 'csv', 'parquet', 'singer']

type ExportCliOptions = {
  stream: string[]
  format: ExportFormat
  formulas?: FormulaHandling
  since?: Date
  output?: string
  state?: string
  partitionBy?: 'month'
  json: boolean
}

export function declareExport(program: Command, cli: CliProcess): void {
  program
    .command('export')
    .description('write rows of the warehouse to a file or a pipe; with --state it resumes where it stopped')
    .option('--stream <name>', `one of ${streamNames.join(', ')}; several for singer`, collectStream, [])
    .addOption(choiceOption('--format <format>', 'format of the rows', formats).default('ndjson'))
    .addOption(
      choiceOption('--formulas <way>', 'of csv: texts that a spreadsheet would run as formulas', formulaHandlings),
    )
    .option('--since <date>', 'only rows that changed after this instant', parseDateOption)
    .addOption(
      choiceOption(
        '--partition-by <span>',
        'of parquet: a folder with a file for each month; --since: the changed months',
        ['month'],
      ),
    )
    .option('--output <file>', 'file to write, or folder with --partition-by; standard output when absent')
    .option('--state <file>', 'state file: read at the start, and updated (for singer by the Singer target)')
    .addOption(jsonOption('print the summary as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync export --stream scores > scores.ndjson',
        'vitalsync export --stream biomarkers --format parquet --output biomarkers.parquet',
        'vitalsync export --stream scores --format csv --output new.csv --state scores.state',
        'vitalsync export --stream scores --stream biomarkers --format parquet --partition-by month --output lake',
        'vitalsync export --stream scores --stream tags --format singer --state state.json | target-jsonl',
      ),
    )
    .action(async ({ json, stream, ...options }: ExportCliOptions) => {
      const { runExport } = await import('../../commands/questions/export.ts')
      cli.exit(await runExport(cli.context({ json }), { ...options, streams: stream }))
    })
}
