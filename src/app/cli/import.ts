import type { Command } from 'commander'
import { type HeartRateDetail, heartRateDetails } from '../../intake/thinned-heart-rate.ts'
import type { PushedStream } from '../../pipeline/transfer/stream.ts'
import { declareImportFormats } from './import-formats.ts'
import {
  type CliProcess,
  choiceOption,
  examples,
  jsonOption,
  parseDateOption,
  parsePushedStream,
  parseTimeZone,
  pushedStreamNames,
} from './options.ts'

type ImportCliOptions = {
  profile?: string
  format?: string
  timeZone?: string
  from?: Date
  to?: Date
  heartRate: HeartRateDetail
  dryRun: boolean
  rejects?: string
  addProfiles: boolean
  replace: boolean
  again: boolean
  json: boolean
}

export function declareImport(program: Command, cli: CliProcess): void {
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
    .option('--replace', 'demographics replace all stored fields, instead of only the named fields', false)
    .option('--again', 'read from the beginning, even where an earlier import was stopped or came to its end', false)
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync import export.zip --profile ada --time-zone Europe/Berlin',
        'vitalsync import export.zip --profile ada --dry-run --heart-rate 1m',
        'vitalsync import data-logs watch.ndjson',
        'vitalsync import tags diary.csv --time-zone Europe/Berlin --rejects odd.ndjson',
        'zcat logs.ndjson.gz | vitalsync import data-logs - --format ndjson --add-profiles',
      ),
    )
    .action((what: string, file: string | undefined, options: ImportCliOptions) =>
      file === undefined ? importExport(cli, what, options) : importKind(cli, [kindOf(command, what), file], options),
    )
  declareImportFormats(command, cli)
}

function kindOf(command: Command, what: string): PushedStream {
  if (pushedStreamNames.includes(what)) return parsePushedStream(what)
  return command.error(`error: before a file goes its kind. Allowed choices are ${pushedStreamNames.join(', ')}.`)
}

/** The options of health exports; --format and --time-zone are of other files as well. */
const withHealthOptions = (command: Command): Command =>
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

async function importExport(cli: CliProcess, path: string, { json, ...options }: ImportCliOptions): Promise<void> {
  const { runHealthImport } = await import('../commands/import-health.ts')
  cli.exit(await runHealthImport(cli.context({ json }), { path, ...options }))
}

async function importKind(
  cli: CliProcess,
  [stream, file]: [PushedStream, string],
  options: ImportCliOptions,
): Promise<void> {
  const { json, timeZone = 'UTC', format, rejects, addProfiles, replace, again } = options
  const { runImport } = await import('../commands/import.ts')
  const given = { ...(format === undefined ? {} : { format }), ...(rejects === undefined ? {} : { rejects }) }
  cli.exit(await runImport(cli.context({ json }), { stream, file, timeZone, addProfiles, replace, again, ...given }))
}
