import type { Command } from 'commander'
import { type FileFormat, fileFormats } from '../intake/records.ts'
import { choice, examples, instant, jsonOption, positive, type Rim } from './rim.ts'

/** Who is synced. */
export function declarePeople(program: Command, rim: Rim): void {
  const profiles = program
    .command('profiles')
    .description('who is synced')
    .addHelpText('after', examples('vitalsync profiles discover', 'vitalsync profiles list'))
  const since = ['--from <date>', 'how far back they are wanted; HISTORY_DAYS when absent', instant] as const
  profiles
    .command('add <externalId...>')
    .description('take people in; their next sync registers them upstream where needed')
    .option(...since)
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText('after', examples('vitalsync profiles add ada grace --from 2026-01-01'))
    .action(async (externalIds: string[], options: { from?: Date; json: boolean }) => {
      const { addProfiles } = await import('../commands/profiles.ts')
      rim.exit(await addProfiles({ ...rim.context(options), externalIds, from: options.from }))
    })
  profiles
    .command('import <file>')
    .description('take people in from a file: CSV with a column externalId, or NDJSON; - is standard input')
    .addOption(choice('--format <format>', 'by the name of the file when absent', fileFormats))
    .option(...since)
    .option('--rejects <file>', 'where lines that could not be read are written, with their reasons')
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync profiles import cohort.csv', 'vitalsync profiles import - --format ndjson'),
    )
    .action(async (file: string, options: { format?: FileFormat; from?: Date; rejects?: string; json: boolean }) => {
      const { format, from, rejects } = options
      const { importProfiles } = await import('../commands/profiles.ts')
      rim.exit(await importProfiles({ ...rim.context(options), file, format, from, rejects }))
    })
  profiles
    .command('discover')
    .description('take in everybody whom upstream knows')
    .option('--search <text>', 'only whom upstream finds by this')
    .addOption(jsonOption('print the counts as JSON'))
    .addHelpText('after', examples('vitalsync profiles discover', 'vitalsync profiles discover --search study-7-'))
    .action(async (options: { search?: string; json: boolean }) => {
      const { discover } = await import('../commands/profiles.ts')
      rim.exit(await discover({ ...rim.context(options), search: options.search }))
    })
  declareOne(profiles, rim)
}

function declareOne(profiles: Command, rim: Rim): void {
  profiles
    .command('list')
    .description('everybody, with what is wrong with them')
    .addOption(choice('--state <state>', 'only those', ['new', 'active', 'gone']))
    .option('--limit <n>', 'how many; 100 when absent, with --json all', positive)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync profiles list --state gone'))
    .action(async (options: { state?: string; limit?: number; json: boolean }) => {
      const { state, limit } = options
      const { listProfiles } = await import('../commands/profiles.ts')
      rim.exit(await listProfiles({ ...rim.context(options), state, limit }))
    })
  profiles
    .command('show <externalId>')
    .description('one person, stream by stream')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync profiles show ada'))
    .action(async (externalId: string, options: { json: boolean }) => {
      const { showProfile } = await import('../commands/profiles.ts')
      rim.exit(await showProfile({ ...rim.context(options), externalId }))
    })
  profiles
    .command('erase <externalId>')
    .description('remove a person upstream and here, for good, and prove it')
    .option('--yes', 'do not ask', false)
    .addOption(jsonOption('print the proof as JSON'))
    .addHelpText('after', examples('vitalsync profiles erase ada --yes'))
    .action(async (externalId: string, options: { yes: boolean; json: boolean }) => {
      const { erase } = await import('../commands/erase.ts')
      rim.exit(await erase({ ...rim.context(options), externalId, yes: options.yes }))
    })
}
