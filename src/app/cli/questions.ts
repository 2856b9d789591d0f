import { Argument, InvalidArgumentError } from 'commander'
import type { scoreTypes } from '../../base/contract/score.ts'
import { formulaHandlings } from '../../base/text/csv-cell.ts'
import { isStorableDay } from '../../base/time/instant.ts'
import type { ExportFormat } from '../../pipeline/export/formats.ts'
import type { AddedType } from '../../pipeline/transfer/stream.ts'
import {
  choiceOption,
  collectStream,
  parseDateOption,
  parsePositive,
  streamNames,
  type Verb,
  withSelectionOptions,
  withStreamOption,
  wordsOf,
} from './options.ts'

export function declareStatus(program: Verb): void {
  program
    .command('status')
    .description('lag, freshness, last runs, backlog, failures by reason, budget')
    .json('print it as JSON')
    .examples('vitalsync status', 'vitalsync status --json | jq .failures')
    .does(async () => (await import('../commands/questions/status.ts')).runStatus)
}

function parseLocalDay(text: string): string {
  if (!isStorableDay(text)) throw new InvalidArgumentError('It must be a day such as 2026-01-31, from 1900 to 2199.')
  return text
}

export function declareWhy(program: Verb): void {
  const why = program
    .command('why')
    .description('whether a day is there, stream by stream, or why it is not, with the evidence and what to do')
    .requiredOption('--profile <externalId>', 'whose day')
    .requiredOption('--date <day>', 'the local day, such as 2026-07-11', parseLocalDay)
  withStreamOption(why)
    .json('print one JSON object a stream')
    .examples('vitalsync why --profile ada --date 2026-07-11 --stream scores')
    .does(async () => (await import('../commands/questions/why.ts')).runWhy)
}

export function declareGaps(program: Verb): void {
  withSelectionOptions(program.command('gaps'))
    .description('missing windows with the reasons: never asked, refused; with --all also unsettled, waiting')
    .option('--all', 'also what is merely unsettled, or waits for upstream to derive', false)
    .option('--empty', 'instead the days that were read and are empty, with the cause of each and its evidence', false)
    .option('--limit <n>', 'how many are shown; with --json all', parsePositive, 100)
    .json('print one JSON object a line')
    .examples('vitalsync gaps', 'vitalsync gaps --profile ada --stream scores', 'vitalsync gaps --empty')
    .does(async () => (await import('../commands/questions/gaps.ts')).runGaps)
}

export function declarePlan(program: Verb): void {
  withSelectionOptions(program.command('plan'))
    .description(
      'how many windows and requests a sync, or a back-fill of a range, would take; sends no request upstream',
    )
    .option('--from <date>', 'start of the range of a back-fill; absent: the plan of a sync', parseDateOption)
    .option('--to <date>', 'end of the range; today when absent', parseDateOption)
    .json('print the plan as JSON')
    .examples('vitalsync plan', 'vitalsync plan --from 2026-01-01 --to 2026-04-01')
    .does(async () => (await import('../commands/questions/plan.ts')).runPlan)
}

function declareExplainSettle(explain: Verb): void {
  explain
    .command('settle')
    .description('when the days of each stream settle, and what was measured that says so')
    .json('print one object a line')
    .examples('vitalsync explain settle', 'vitalsync explain settle --json | jq .basis')
    .does(async () => (await import('../commands/questions/explain-settle.ts')).runExplainSettle)
}

const scoreNames = wordsOf<(typeof scoreTypes)[number]>({
  wellbeing: true,
  activity: true,
  sleep: true,
  readiness: true,
  mental_wellbeing: true,
})

export function declareExplain(program: Verb): void {
  const explain = program
    .command('explain')
    .description(
      'where a score comes from: factors, weights, the logs behind it (only this project’s Profile Service can explain)',
    )
    .option('--profile <externalId>', 'profile of the score; required')
    .option('--date <day>', 'the local day, such as 2026-07-11; required', parseLocalDay)
    .addOption(choiceOption('--score <type>', 'which score', scoreNames).default('sleep'))
    .json('print it as JSON')
    .examples('vitalsync explain --profile ada --date 2026-07-11 --score activity')
    .does(async (_context, { profile, date }: { profile?: string; date?: string }) => {
      // Not required options of commander's: those would be required of `explain settle` as well.
      if (profile === undefined) return explain.error("error: required option '--profile <externalId>' not specified")
      if (date === undefined) return explain.error("error: required option '--date <day>' not specified")
      return (await import('../commands/questions/explain.ts')).runExplain
    })
  declareExplainSettle(explain)
}

export function declareSql(program: Verb): void {
  program
    .command('sql')
    .description(
      'ask the warehouse in a session that may only read its views; without a statement it is read from standard input',
    )
    .argument('[statement]', 'one SQL statement')
    .option('--limit <n>', 'how many rows are shown; with --csv and --json all', parsePositive, 1000)
    .option('--csv', 'print CSV', false)
    .json('print one JSON object a row')
    .examples(
      'vitalsync sql "select * from warehouse.days limit 5"',
      'vitalsync sql --json "select * from warehouse.runs"',
      'vitalsync sql --csv "select * from warehouse.valid_days where not valid" > missing.csv',
    )
    .does(async () => (await import('../commands/questions/sql.ts')).runSql)
}

const formats: readonly ExportFormat[] = ['ndjson', 'csv', 'parquet', 'singer']

export function declareExport(program: Verb): void {
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
    .json('print the summary as JSON')
    .examples(
      'vitalsync export --stream scores > scores.ndjson',
      'vitalsync export --stream biomarkers --format parquet --output biomarkers.parquet',
      'vitalsync export --stream scores --format csv --output new.csv --state scores.state',
      'vitalsync export --stream scores --stream biomarkers --format parquet --partition-by month --output lake',
      'vitalsync export --stream scores --stream tags --format singer --state state.json | target-jsonl',
    )
    .does(async () => (await import('../commands/questions/export.ts')).runExport)
}

const columnTypes = wordsOf<AddedType>({
  text: true,
  integer: true,
  bigint: true,
  real: true,
  double: true,
  boolean: true,
  timestamptz: true,
  date: true,
  jsonb: true,
})

const streamArgument = () => new Argument('<stream>', 'the stream').choices(streamNames)
const LIST = 'vitalsync columns list'

export function declareColumns(program: Verb): void {
  const columns = program
    .command('columns')
    .description('columns that you add to a stream, made of what its records hold')
    .examples("vitalsync columns add scores confidence '$.confidence' --type real", LIST)
  columns
    .command('add')
    .description(
      'add a column to warehouse.<stream>_added, and fill it for all stored records; ended, workers fill the rest',
    )
    .addArgument(streamArgument())
    .argument('<name>', 'name of the column')
    .argument('<path>', "where in a record the value is: '$.confidence', '$.factors[0].value'")
    .addOption(
      choiceOption('--type <type>', 'type of the column; what does not fit is null', columnTypes).default('text'),
    )
    .json('print the column as JSON')
    .examples("vitalsync columns add scores confidence '$.confidence' --type real")
    .does(async () => (await import('../commands/columns.ts')).runColumnsAdd)
  columns
    .command('list')
    .description('the added columns, how far each is filled, and how many records hold something that does not fit')
    .json('print one JSON object a line')
    .examples(LIST)
    .does(async () => (await import('../commands/columns.ts')).runColumnsList)
  columns
    .command('drop')
    .description('drop an added column; raw keeps what it was made of')
    .addArgument(streamArgument())
    .argument('<name>', 'name of the column')
    .json('print whether there was such a column, as JSON')
    .examples('vitalsync columns drop scores confidence')
    .does(async () => (await import('../commands/columns.ts')).runColumnsDrop)
}
