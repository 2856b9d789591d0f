import type { FileFormat } from '../../intake/file-entries.ts'
import { type SilenceState, silenceStates } from '../../pipeline/ledger/silence.ts'
import {
  type CliProcess,
  choiceOption,
  fileFormats,
  jsonOption,
  parseDateOption,
  parseHours,
  parsePositive,
  parseShare,
  type Verb,
} from './options.ts'

export function declareProfiles(program: Verb, cli: CliProcess): void {
  const profiles = program
    .command('profiles')
    .description('the profiles that are synced')
    .examples('vitalsync profiles discover', 'vitalsync profiles list')
  declareAdd(profiles, cli)
  declareImport(profiles, cli)
  declareDiscover(profiles, cli)
  declareList(profiles, cli)
  declareShow(profiles, cli)
  declareSilent(profiles, cli)
  declareProfilesErase(profiles, cli)
}

const fromOption = [
  '--from <date>',
  'start of the wanted history; HISTORY_DAYS ago when absent',
  parseDateOption,
] as const

function declareAdd(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('add <externalId...>')
    .description('add profiles; the next sync registers them upstream where needed')
    .option(...fromOption)
    .addOption(jsonOption('print the counts as JSON'))
    .examples('vitalsync profiles add ada grace --from 2026-01-01')
    .action(async (externalIds: string[], { json, from }: { from?: Date; json: boolean }) => {
      const { addProfiles } = await import('../commands/profiles.ts')
      cli.exit(await addProfiles(cli.context({ json }), { externalIds, from }))
    })
}

type ImportCliOptions = { format?: FileFormat; from?: Date; rejects?: string; json: boolean }

function declareImport(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('import <file>')
    .description(
      'add the profiles of a file: CSV with a column externalId, and cohort where there are groups, or NDJSON; - is standard input',
    )
    .addOption(choiceOption('--format <format>', 'by the name of the file when absent', fileFormats))
    .option(...fromOption)
    .option('--rejects <file>', 'file for the lines that could not be read, with the reasons')
    .addOption(jsonOption('print the counts as JSON'))
    .examples('vitalsync profiles import cohort.csv', 'vitalsync profiles import - --format ndjson')
    .action(async (file: string, { json, format, from, rejects }: ImportCliOptions) => {
      const { importProfiles } = await import('../commands/profiles.ts')
      cli.exit(await importProfiles(cli.context({ json }), { file, format, from, rejects }))
    })
}

function declareDiscover(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('discover')
    .description('add every profile that upstream knows')
    .option('--search <text>', 'only the profiles that upstream finds by this text')
    .addOption(jsonOption('print the counts as JSON'))
    .examples('vitalsync profiles discover', 'vitalsync profiles discover --search study-7-')
    .action(async ({ json, ...options }: { search?: string; json: boolean }) => {
      const { discoverUpstreamProfiles } = await import('../commands/profiles.ts')
      await discoverUpstreamProfiles(cli.context({ json }), options)
    })
}

function declareList(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('list')
    .description('all profiles, with the counts of their failures')
    .addOption(choiceOption('--state <state>', 'only profiles of this state', ['new', 'active', 'gone']))
    .option('--limit <n>', 'how many; 100 when absent, with --json all', parsePositive)
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync profiles list --state gone')
    .action(async ({ json, ...options }: { state?: string; limit?: number; json: boolean }) => {
      const { listProfiles } = await import('../commands/profiles.ts')
      await listProfiles(cli.context({ json }), options)
    })
}

function declareShow(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('show <externalId>')
    .description('one profile, stream by stream')
    .addOption(jsonOption('print it as JSON'))
    .examples('vitalsync profiles show ada')
    .action(async (externalId: string, { json }: { json: boolean }) => {
      const { showProfile } = await import('../commands/profiles.ts')
      await showProfile(cli.context({ json }), { externalId })
    })
}

type SilentCliOptions = {
  since?: number
  unusual?: number
  state?: SilenceState
  limit?: number
  groups: boolean
  watch: boolean
  csv: boolean
  json: boolean
}

function declareSilent(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('silent')
    .description('who has gone silent, by the habit of each person, the most unusual first')
    .option('--since <span>', 'only who is silent for at least this long, such as 3d or 36h', parseHours)
    .option('--unusual <share>', 'only a silence longer than this share of the person’s own intervals', parseShare)
    .addOption(choiceOption('--state <state>', 'only this kind of silence', silenceStates))
    .option('--groups', 'instead, how many are silent by device, model, app version and day of the last upload', false)
    .option('--watch', 'instead, each change as it is noticed, until it is interrupted', false)
    .option('--limit <n>', 'how many; 100 when absent, with --csv and --json all', parsePositive)
    .option('--csv', 'print CSV', false)
    .addOption(jsonOption('print one JSON object a line'))
    .examples(
      'vitalsync profiles silent --since 3d',
      'vitalsync profiles silent --unusual 0.99 --csv > silent.csv',
      'vitalsync profiles silent --watch --json | ./send-reminders',
    )
    .action(async ({ json, since: sinceHours, groups, watch, ...options }: SilentCliOptions) => {
      const { printSilenceGroups, printSilent, watchSilence } = await import('../commands/profiles-silent.ts')
      const context = cli.context({ json })
      if (watch) return await watchSilence(context)
      if (groups) return await printSilenceGroups(context)
      await printSilent(context, { ...options, sinceHours })
    })
}

function declareProfilesErase(profiles: Verb, cli: CliProcess): void {
  profiles
    .command('erase <externalId>')
    .description('erase a profile upstream and here, for good, and prove it')
    .option('--yes', 'do not ask', false)
    .addOption(jsonOption('print the proof as JSON'))
    .examples('vitalsync profiles erase ada --yes')
    .action(async (externalId: string, { json, yes }: { yes: boolean; json: boolean }) => {
      const { runProfilesErase } = await import('../commands/profiles-erase.ts')
      cli.exit(await runProfilesErase(cli.context({ json }), { externalId, yes }))
    })
}
