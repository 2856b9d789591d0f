import { Argument, type Command } from 'commander'
import { type FileFormat, fileFormats } from '../intake/file-entries.ts'
import type { PushedStream } from '../transfer/stream.ts'
import {
  type CliProcess,
  choiceOption,
  examples,
  jsonOption,
  parsePushedStream,
  parseTimeZone,
  pushedStreamNames,
} from './options.ts'

type ImportCliOptions = {
  format?: FileFormat
  timeZone: string
  rejects?: string
  addProfiles: boolean
  replace: boolean
  again: boolean
  json: boolean
}

export function declareImport(program: Command, cli: CliProcess): void {
  program
    .command('import')
    .description('add a file to the outbox, which the next sync pushes; stopped anywhere, the same command resumes')
    .addArgument(new Argument('<kind>', 'what is in the file').choices(pushedStreamNames).argParser(parsePushedStream))
    .argument('<file>', 'NDJSON or CSV; - is standard input')
    .addOption(choiceOption('--format <format>', 'by the name of the file when absent', fileFormats))
    .option('--time-zone <zone>', 'time zone of date-times without an offset', parseTimeZone, 'UTC')
    .option('--rejects <file>', 'file for the rejected lines; FILE.rejects.ndjson when absent')
    .option('--add-profiles', 'add profiles that are not known here', false)
    .option('--replace', 'demographics replace all stored fields, instead of only the named fields', false)
    .option('--again', 'read from the beginning, even where an earlier import was stopped', false)
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText(
      'after',
      examples(
        'vitalsync import data-logs watch.ndjson',
        'vitalsync import tags diary.csv --time-zone Europe/Berlin --rejects odd.ndjson',
        'zcat logs.ndjson.gz | vitalsync import data-logs - --format ndjson --add-profiles',
      ),
    )
    .action(async (stream: PushedStream, file: string, { json, ...options }: ImportCliOptions) => {
      const { runImport } = await import('../commands/import.ts')
      cli.exit(await runImport(cli.context({ json }), { stream, file, ...options }))
    })
}
