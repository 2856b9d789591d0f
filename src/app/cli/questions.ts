import { formulaHandlings } from '../../base/text/csv-cell.ts'
import type { ExportFormat } from '../../pipeline/export/formats.ts'
import {
  type CliProcess,
  choiceOption,
  collectStream,
  type Given,
  jsonOption,
  parseDateOption,
  parseLocalDay,
  parsePositive,
  type SelectionOptions,
  scoreNames,
  selectionOf,
  streamNames,
  type Verb,
  withSelectionOptions,
  withStreamOption,
} from './options.ts'

export function declareStatus(program: Verb, cli: CliProcess): void {
  program
    .command('status')
    .description('lag, freshness, last runs, backlog, failures by reason, budget')
    .addOption(jsonOption('print it as JSON'))
    .examples('vitalsync status', 'vitalsync status --json | jq .failures')
    .action(async ({ json }: { json: boolean }) => {
      const { runStatus } = await import('../commands/questions/status.ts')
      await runStatus(cli.context({ json }))
    })
}

type WhyCliOptions = { profile: string; date: string; stream: string[]; json: boolean }

export function declareWhy(program: Verb, cli: CliProcess): void {
  const why = program
    .command('why')
    .description('whether a day is there, stream by stream, or why it is not, with the evidence and what to do')
    .requiredOption('--profile <externalId>', 'whose day')
    .requiredOption('--date <day>', 'the local day, such as 2026-07-11', parseLocalDay)
  withStreamOption(why)
    .addOption(jsonOption('print one JSON object a stream'))
    .examples('vitalsync why --profile ada --date 2026-07-11 --stream scores')
    .action(async ({ json, profile, date, stream }: WhyCliOptions) => {
      const { runWhy } = await import('../commands/questions/why.ts')
      await runWhy(cli.context({ json }), { externalId: profile, date, streams: stream })
    })
}

type GapsCliOptions = SelectionOptions & { limit: number; all: boolean; empty: boolean; json: boolean }

export function declareGaps(program: Verb, cli: CliProcess): void {
  withSelectionOptions(program.command('gaps'))
    .description('missing windows with the reasons: never asked, refused; with --all also unsettled, waiting')
    .option('--all', 'also what is merely unsettled, or waits for upstream to derive', false)
    .option('--empty', 'instead the days that were read and are empty, with the cause of each and its evidence', false)
    .option('--limit <n>', 'how many are shown; with --json all', parsePositive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync gaps', 'vitalsync gaps --profile ada --stream scores', 'vitalsync gaps --empty')
    .action(async ({ json, limit, all, empty, ...options }: GapsCliOptions) => {
      const { runGaps } = await import('../commands/questions/gaps.ts')
      await runGaps(cli.context({ json }), { ...selectionOf(options), limit, all, empty })
    })
}

export function declarePlan(program: Verb, cli: CliProcess): void {
  withSelectionOptions(program.command('plan'))
    .description(
      'how many windows and requests a sync, or a back-fill of a range, would take; sends no request upstream',
    )
    .option('--from <date>', 'start of the range of a back-fill; absent: the plan of a sync', parseDateOption)
    .option('--to <date>', 'end of the range; today when absent', parseDateOption)
    .addOption(jsonOption('print the plan as JSON'))
    .examples('vitalsync plan', 'vitalsync plan --from 2026-01-01 --to 2026-04-01')
    .action(async ({ json, from, to, ...options }: SelectionOptions & { from?: Date; to?: Date; json: boolean }) => {
      const { runPlan } = await import('../commands/questions/plan.ts')
      await runPlan(cli.context({ json }), { ...selectionOf(options), from, to, again: false })
    })
}

function declareExplainSettle(explain: Verb, cli: CliProcess): void {
  explain
    .command('settle')
    .description('when the days of each stream settle, and what was measured that says so')
    .addOption(jsonOption('print one object a line'))
    .examples('vitalsync explain settle', 'vitalsync explain settle --json | jq .basis')
    .action(async ({ json }: { json: boolean }) => {
      const { runExplainSettle } = await import('../commands/questions/explain-settle.ts')
      await runExplainSettle(cli.context({ json }))
    })
}

type ExplainCliOptions = { profile?: string; date?: string; score: string; json: boolean }

export function declareExplain(program: Verb, cli: CliProcess): void {
  const explain = program
    .command('explain')
    .description(
      'where a score comes from: factors, weights, the logs behind it (only this project’s Profile Service can explain)',
    )
    .option('--profile <externalId>', 'profile of the score; required')
    .option('--date <day>', 'the local day, such as 2026-07-11; required', parseLocalDay)
    .addOption(choiceOption('--score <type>', 'which score', scoreNames).default('sleep'))
    .addOption(jsonOption('print it as JSON'))
    .examples('vitalsync explain --profile ada --date 2026-07-11 --score activity')
    .action(async ({ json, profile, date, score }: ExplainCliOptions) => {
      // Not required options of commander's: those would be required of `explain settle` as well.
      if (profile === undefined) return explain.error("error: required option '--profile <externalId>' not specified")
      if (date === undefined) return explain.error("error: required option '--date <day>' not specified")
      const { runExplain } = await import('../commands/questions/explain.ts')
      await runExplain(cli.context({ json }), { externalId: profile, date, score })
    })
  declareExplainSettle(explain, cli)
}

export function declareSql(program: Verb, cli: CliProcess): void {
  program
    .command('sql')
    .description(
      'ask the warehouse in a session that may only read its views; without a statement it is read from standard input',
    )
    .argument('[statement]', 'one SQL statement')
    .option('--limit <n>', 'how many rows are shown; with --csv and --json all', parsePositive, 1000)
    .option('--csv', 'print CSV', false)
    .addOption(jsonOption('print one JSON object a row'))
    .examples(
      'vitalsync sql "select * from warehouse.days limit 5"',
      'vitalsync sql --json "select * from warehouse.runs"',
      'vitalsync sql --csv "select * from warehouse.valid_days where not valid" > missing.csv',
    )
    .action(async (text: string | undefined, { json, limit, csv }: { limit: number; csv: boolean; json: boolean }) => {
      const { runSql } = await import('../commands/questions/sql.ts')
      await runSql(cli.context({ json }), { text, limit, csv })
    })
}

const formats: readonly ExportFormat[] = ['ndjson', 'csv', 'parquet', 'singer']

type ExportCliOptions = Omit<Given<typeof import('../commands/questions/export.ts').runExport>, 'streams'> & {
  stream: string[]
}

export function declareExport(program: Verb, cli: CliProcess): void {
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
    .examples(
      'vitalsync export --stream scores > scores.ndjson',
      'vitalsync export --stream biomarkers --format parquet --output biomarkers.parquet',
      'vitalsync export --stream scores --format csv --output new.csv --state scores.state',
      'vitalsync export --stream scores --stream biomarkers --format parquet --partition-by month --output lake',
      'vitalsync export --stream scores --stream tags --format singer --state state.json | target-jsonl',
    )
    .action(async ({ json, stream, ...options }: ExportCliOptions) => {
      const { runExport } = await import('../commands/questions/export.ts')
      cli.exit(await runExport(cli.context({ json }), { ...options, streams: stream }))
    })
}
