import { Argument, type Command } from 'commander'
import { type ImportOptions, importFile } from '../commands/import.ts'
import { itemKinds } from '../intake/items.ts'
import { type FileFormat, fileFormats } from '../intake/records.ts'
import { choice, examples, jsonOption, type Rim, timeZone } from './rim.ts'

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
      rim.exit(await importFile({ ...rim.context(options), ...options, kind, file, format, rejects }))
    })
}
