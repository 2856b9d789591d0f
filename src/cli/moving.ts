import { Argument, type Command } from 'commander'
import type { ImportOptions } from '../commands/import.ts'
import { UsageProblem } from '../errors.ts'
import { type ExportFormat, exportFormats } from '../export/format.ts'
import { itemKinds } from '../intake/items.ts'
import { type FileFormat, fileFormats } from '../intake/records.ts'
import { choice, examples, gatherStream, instant, jsonOption, type Rim, streamNames, timeZone } from './rim.ts'

type Importing = {
  format?: FileFormat
  timeZone: string
  rejects?: string
  addProfiles: boolean
  replace: boolean
  again: boolean
  json: boolean
}

/** What comes in from files, and what goes out to them. */
export function declareMoving(program: Command, rim: Rim): void {
  declareImport(program, rim)
  declareExport(program, rim)
}

function declareImport(program: Command, rim: Rim): void {
  program
    .command('import')
    .description('take a file into the outbox, from where the next sync pushes it; stopped anywhere, it carries on')
    .addArgument(new Argument('<kind>', 'what is in the file').choices(itemKinds))
    .argument('<file>', 'NDJSON or CSV; - is standard input')
    .addOption(choice('--format <format>', 'by the name of the file when absent', fileFormats))
    .option('--time-zone <zone>', 'of date-times that carry no offset', timeZone, 'UTC')
    .option('--rejects <file>', 'where lines that do not fit are written; FILE.rejects.ndjson when absent')
    .option('--add-profiles', 'take in people who are not known here', false)
    .option('--replace', 'demographics replace all that is there, instead of changing what they name', false)
    .option('--again', 'from the beginning, even where an earlier import was stopped half way', false)
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync import data-logs watch.ndjson',
        'vitalsync import tags diary.csv --time-zone Europe/Berlin --rejects odd.ndjson',
        'zcat logs.ndjson.gz | vitalsync import data-logs - --format ndjson --add-profiles',
      ),
    )
    .action(async (kind: ImportOptions['kind'], file: string, options: Importing) => {
      const { format, rejects } = options
      const { importFile } = await import('../commands/import.ts')
      rim.exit(await importFile({ ...rim.context(options), ...options, kind, file, format, rejects }))
    })
}

type Exporting = {
  stream: string[]
  format: ExportFormat
  since?: Date
  output?: string
  state?: string
  json: boolean
}

function declareExport(program: Command, rim: Rim): void {
  program
    .command('export')
    .description('stream rows of the warehouse into a file or a pipe; with --state it goes on where it was')
    .option('--stream <name>', `one of ${streamNames.join(', ')}; several for singer`, gatherStream, [])
    .addOption(choice('--format <format>', 'how', exportFormats).default('ndjson'))
    .option('--since <date>', 'only what changed after this instant', instant)
    .option('--output <file>', 'where to; standard output when absent')
    .option('--state <file>', 'where it stands: read at the start, kept up to date (by a Singer target for singer)')
    .addOption(jsonOption('print the summary as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync export --stream scores > scores.ndjson',
        'vitalsync export --stream biomarkers --format parquet --output biomarkers.parquet',
        'vitalsync export --stream scores --format csv --output new.csv --state scores.state',
        'vitalsync export --stream scores --stream tags --format singer --state state.json | target-jsonl',
      ),
    )
    .action(async (options: Exporting) => {
      const { format, since, output, state } = options
      if (options.stream.length === 0)
        throw new UsageProblem('export: no stream', { hint: 'Name it: --stream scores.' })
      const { exportStreams } = await import('../commands/export.ts')
      rim.exit(await exportStreams({ ...rim.context(options), streams: options.stream, format, since, output, state }))
    })
}
