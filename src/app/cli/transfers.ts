import { InvalidArgumentError, Option } from 'commander'
import { heartRateDetails } from '../../intake/thinned-heart-rate.ts'
import {
  choiceOption,
  parseDateOption,
  parseListNumber,
  parsePositive,
  parseWhole,
  pushedStreamNames,
  type Verb,
  withSelectionOptions,
} from './options.ts'

export function declareSync(program: Verb): void {
  withSelectionOptions(program.command('sync'))
    .description(
      'start a nightly run now and follow it to its end; works on the jobs itself where no worker is running',
    )
    .json('print the finished run as JSON')
    .examples('vitalsync sync', 'vitalsync sync --profile ada --stream scores --stream biomarkers')
    .does(async () => (await import('../commands/sync-and-backfill.ts')).runSync)
}

export function declareBackfill(program: Verb): void {
  withSelectionOptions(program.command('backfill'))
    .description('read a range of the past, newest first; stopped anywhere, the same command resumes')
    .requiredOption('--from <date>', 'start of the range', parseDateOption)
    .option('--to <date>', 'end of the range, not included; the end of today when absent', parseDateOption)
    .option('--profiles-from <file>', 'only the profiles of this file: CSV or NDJSON with externalId')
    .option('--again', 'read covered windows too', false)
    .option('--dry-run', 'only print the plan', false)
    .json('print the finished run as JSON')
    .examples(
      'vitalsync backfill --from 2026-01-01 --to 2026-04-01',
      'vitalsync backfill --from 2025-11-01 --profiles-from cohort.csv --stream scores --dry-run',
    )
    .does(async () => (await import('../commands/sync-and-backfill.ts')).runBackfill)
}

export function declareVerify(program: Verb): void {
  withSelectionOptions(program.command('verify'))
    .description('read covered windows again and compare: the measured rate of silent differences')
    .option('--sample <n>', 'how many windows: each covered day has the same chance', parsePositive, 100)
    .option('--seed <n>', 'draws the same windows as an earlier run with this seed', parseWhole)
    .option('--mend', 'make windows that differ due again, and store what upstream gives now')
    .json('print the result as JSON')
    .examples(
      'vitalsync verify',
      'vitalsync verify --sample 1000 --stream scores',
      'vitalsync verify --sample 1000 --mend',
    )
    .does(async () => (await import('../commands/verify.ts')).runVerify)
}

function declareImportFormats(parent: Verb): void {
  parent
    .command('formats')
    .description('the health exports that can be imported')
    .json('print one object a line')
    .examples('vitalsync import formats')
    .does(async () => (await import('../commands/import.ts')).runImportFormats)
}

export function declareImport(program: Verb): void {
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
    .json('print the counts as JSON')
    .examples(
      'vitalsync import export.zip --profile ada --time-zone Europe/Berlin',
      'vitalsync import export.zip --profile ada --dry-run --heart-rate 1m',
      'vitalsync import data-logs watch.ndjson',
      'vitalsync import tags diary.csv --time-zone Europe/Berlin --rejects odd.ndjson',
      'zcat logs.ndjson.gz | vitalsync import data-logs - --format ndjson --add-profiles',
    )
    .does(async (_context, { file }: { file?: string }) =>
      file === undefined
        ? (await import('../commands/import-health.ts')).runHealthImport
        : (await import('../commands/import.ts')).runImport,
    )
  declareImportFormats(command)
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

function parseTimeZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new InvalidArgumentError('It must be a time zone such as Europe/Berlin, or +02:00.')
  }
}

export function declareRuns(program: Verb): void {
  const runs = program
    .command('runs')
    .description('the last runs: cron slots and commands')
    .option('--limit <n>', 'how many', parsePositive, 20)
    .json('print one JSON object a line')
    .examples('vitalsync runs --limit 5')
    .does(async () => (await import('../commands/runs.ts')).runRuns)
  runs
    .command('stop')
    .argument('<run>', 'its number', parseListNumber)
    .description('stop a run: jobs that have begun end, those that wait are given up, and what was read stays')
    .examples('vitalsync runs stop 42')
    .does(async () => (await import('../commands/runs.ts')).stopRun)
}
