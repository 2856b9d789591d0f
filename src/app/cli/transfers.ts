import { Option } from 'commander'
import { heartRateDetails } from '../../intake/thinned-heart-rate.ts'
import {
  type CliProcess,
  choiceOption,
  type Given,
  jsonOption,
  parseDateOption,
  parseListNumber,
  parsePositive,
  parseTimeZone,
  parseWhole,
  pushedStreamNames,
  type SelectionOptions,
  selectionOf,
  type Verb,
  withSelectionOptions,
} from './options.ts'

export function declareSync(program: Verb, cli: CliProcess): void {
  withSelectionOptions(program.command('sync'))
    .description(
      'start a nightly run now and follow it to its end; works on the jobs itself where no worker is running',
    )
    .addOption(jsonOption('print the finished run as JSON'))
    .examples('vitalsync sync', 'vitalsync sync --profile ada --stream scores --stream biomarkers')
    .action(async ({ json, ...options }: SelectionOptions & { json: boolean }) => {
      const { runSync } = await import('../commands/sync.ts')
      cli.exit(await runSync(cli.context({ json }), selectionOf(options)))
    })
}

type BackfillCliOptions = SelectionOptions &
  Omit<Given<typeof import('../commands/backfill.ts').runBackfill>, 'profiles' | 'streams'>

export function declareBackfill(program: Verb, cli: CliProcess): void {
  withSelectionOptions(program.command('backfill'))
    .description('read a range of the past, newest first; stopped anywhere, the same command resumes')
    .requiredOption('--from <date>', 'start of the range', parseDateOption)
    .option('--to <date>', 'end of the range, not included; the end of today when absent', parseDateOption)
    .option('--profiles-from <file>', 'only the profiles of this file: CSV or NDJSON with externalId')
    .option('--again', 'read covered windows too', false)
    .option('--dry-run', 'only print the plan', false)
    .addOption(jsonOption('print the finished run as JSON'))
    .examples(
      'vitalsync backfill --from 2026-01-01 --to 2026-04-01',
      'vitalsync backfill --from 2025-11-01 --profiles-from cohort.csv --stream scores --dry-run',
    )
    .action(async ({ json, profile, stream, ...options }: BackfillCliOptions) => {
      const { runBackfill } = await import('../commands/backfill.ts')
      cli.exit(await runBackfill(cli.context({ json }), { ...selectionOf({ profile, stream }), ...options }))
    })
}

type VerifyCliOptions = SelectionOptions & { sample: number; seed?: number; mend?: boolean; json: boolean }

export function declareVerify(program: Verb, cli: CliProcess): void {
  withSelectionOptions(program.command('verify'))
    .description('read covered windows again and compare: the measured rate of silent differences')
    .option('--sample <n>', 'how many windows: each covered day has the same chance', parsePositive, 100)
    .option('--seed <n>', 'draws the same windows as an earlier run with this seed', parseWhole)
    .option('--mend', 'make windows that differ due again, and store what upstream gives now')
    .addOption(jsonOption('print the result as JSON'))
    .examples(
      'vitalsync verify',
      'vitalsync verify --sample 1000 --stream scores',
      'vitalsync verify --sample 1000 --mend',
    )
    .action(async ({ json, sample, seed, mend = false, ...options }: VerifyCliOptions) => {
      const { runVerify } = await import('../commands/verify.ts')
      cli.exit(await runVerify(cli.context({ json }), { ...selectionOf(options), sample, seed, mend }))
    })
}

function declareImportFormats(parent: Verb, cli: CliProcess): void {
  parent
    .command('formats')
    .description('the health exports that can be imported')
    .addOption(jsonOption('print one object a line'))
    .examples('vitalsync import formats')
    .action(async ({ json }: { json: boolean }) => {
      const { runImportFormats } = await import('../commands/import.ts')
      cli.exit(runImportFormats(cli.context({ json })))
    })
}

type ImportCliOptions = Omit<Given<typeof import('../commands/import-health.ts').runHealthImport>, 'path'> & {
  replace: boolean
}

export function declareImport(program: Verb, cli: CliProcess): void {
  const command = withHealthOptions(
    program
      .command('import')
      .description(
        'add a health export, or a file of our own kinds, to the outbox, which the next sync pushes; stopped anywhere, the same command resumes',
      )
      .argument('<what>', `a health export: file, zip or folder; or ${pushedStreamNames.join(', ')} before a file`)
      .argument('[file]', 'of such a kind: NDJSON or CSV; - is standard input'),
  )
    .option('--rejects <file>', 'file for what was rejected; FILE.rejects.ndjson when absent')
    .option('--add-profiles', 'add profiles that are not known here', false)
    .addOption(
      new Option('--must-exist', 'add only profiles that upstream knows, and reject what is of others')
        .default(false)
        .implies({ addProfiles: true }),
    )
    .option('--replace', 'demographics replace all stored fields, instead of only the named fields', false)
    .option('--again', 'read from the beginning, even where an earlier import was stopped or came to its end', false)
    .addOption(jsonOption('print the counts as JSON'))
    .examples(
      'vitalsync import export.zip --profile ada --time-zone Europe/Berlin',
      'vitalsync import export.zip --profile ada --dry-run --heart-rate 1m',
      'vitalsync import data-logs watch.ndjson',
      'vitalsync import tags diary.csv --time-zone Europe/Berlin --rejects odd.ndjson',
      'zcat logs.ndjson.gz | vitalsync import data-logs - --format ndjson --add-profiles',
    )
    .action((what: string, file: string | undefined, options: ImportCliOptions) =>
      file === undefined ? importExport(cli, what, options) : importKind(cli, command, { kind: what, file, options }),
    )
  declareImportFormats(command, cli)
}

/** The options of health exports; --format and --time-zone are of other files as well. */
const withHealthOptions = (command: Verb): Verb =>
  command
    .option('--profile <externalId>', 'of a health export: whose it is; required there')
    .option('--format <format>', 'found out when absent: of an export by its content, else by the name of the file')
    .option(
      '--time-zone <zone>',
      'zone of date-times without an offset (UTC when absent), and of the local days of a health export',
      parseTimeZone,
    )
    .option('--from <date>', 'of a health export: only records that start from then on', parseDateOption)
    .option('--to <date>', 'of a health export: only records that start before', parseDateOption)
    .addOption(
      choiceOption('--heart-rate <detail>', 'of a health export: each sample, or averages', heartRateDetails).default(
        'raw',
      ),
    )
    .option('--dry-run', 'of a health export: report, and store nothing', false)
    .option('--allow-unread', 'of a health export: end with 0 although files of it were not read', false)

async function importExport(cli: CliProcess, path: string, { json, ...options }: ImportCliOptions): Promise<void> {
  const { runHealthImport } = await import('../commands/import-health.ts')
  cli.exit(await runHealthImport(cli.context({ json }), { path, ...options }))
}

async function importKind(
  cli: CliProcess,
  command: Verb,
  { kind, file, options }: { readonly kind: string; readonly file: string; readonly options: ImportCliOptions },
): Promise<void> {
  const { json, timeZone = 'UTC', format, rejects, addProfiles, mustExist, replace, again } = options
  const { pushedStreams } = await import('../../../config/streams.ts')
  const stream = pushedStreams.find(({ name }) => name === kind)
  if (!stream)
    return command.error(`error: before a file goes its kind. Allowed choices are ${pushedStreamNames.join(', ')}.`)
  const { runImport } = await import('../commands/import.ts')
  const given = { ...(format === undefined ? {} : { format }), ...(rejects === undefined ? {} : { rejects }) }
  const people = { addProfiles, mustExist }
  cli.exit(await runImport(cli.context({ json }), { stream, file, timeZone, ...people, replace, again, ...given }))
}

export function declareRuns(program: Verb, cli: CliProcess): void {
  const runs = program
    .command('runs')
    .description('the last runs: cron slots and commands')
    .option('--limit <n>', 'how many', parsePositive, 20)
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync runs --limit 5')
    .action(async ({ json, ...options }: { limit: number; json: boolean }) => {
      const { runRuns } = await import('../commands/runs.ts')
      await runRuns(cli.context({ json }), options)
    })
  runs
    .command('stop')
    .argument('<run>', 'its number', parseListNumber)
    .description('stop a run: jobs that have begun end, those that wait are given up, and what was read stays')
    .examples('vitalsync runs stop 42')
    .action(async (runId: string) => {
      const { stopRun } = await import('../commands/runs.ts')
      await stopRun(cli.context({ json: false }), { runId })
    })
}
