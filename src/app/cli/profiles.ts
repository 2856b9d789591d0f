import { InvalidArgumentError } from 'commander'
import type { FileFormat } from '../../intake/file-entries.ts'
import { silenceStates } from '../../pipeline/ledger/silence.ts'
import { choiceOption, parseDateOption, parsePositive, type Verb, wordsOf } from './options.ts'

export function declareProfiles(program: Verb): void {
  const profiles = program
    .command('profiles')
    .description('the profiles that are synced')
    .examples('vitalsync profiles discover', 'vitalsync profiles list')
  declareAdd(profiles)
  declareImport(profiles)
  declareDiscover(profiles)
  declareList(profiles)
  declareShow(profiles)
  declareSilent(profiles)
  declareProfilesErase(profiles)
}

const fromOption = [
  '--from <date>',
  'start of the wanted history; HISTORY_DAYS ago when absent',
  parseDateOption,
] as const

function declareAdd(profiles: Verb): void {
  profiles
    .command('add <externalId...>')
    .description('add profiles; the next sync registers them upstream where needed')
    .option(...fromOption)
    .json('print the counts as JSON')
    .examples('vitalsync profiles add ada grace --from 2026-01-01')
    .does(async () => (await import('../commands/profiles.ts')).addProfiles)
}

const fileFormats = wordsOf<FileFormat>({ ndjson: true, csv: true })

function declareImport(profiles: Verb): void {
  profiles
    .command('import <file>')
    .description(
      'add the profiles of a file: CSV with a column externalId, and cohort where there are groups, or NDJSON; - is standard input',
    )
    .addOption(choiceOption('--format <format>', 'by the name of the file when absent', fileFormats))
    .option(...fromOption)
    .option('--rejects <file>', 'file for the lines that could not be read, with the reasons')
    .json('print the counts as JSON')
    .examples('vitalsync profiles import cohort.csv', 'vitalsync profiles import - --format ndjson')
    .does(async () => (await import('../commands/profiles.ts')).importProfiles)
}

function declareDiscover(profiles: Verb): void {
  profiles
    .command('discover')
    .description('add every profile that upstream knows')
    .option('--search <text>', 'only the profiles that upstream finds by this text')
    .json('print the counts as JSON')
    .examples('vitalsync profiles discover', 'vitalsync profiles discover --search study-7-')
    .does(async () => (await import('../commands/profiles.ts')).discoverUpstreamProfiles)
}

function declareList(profiles: Verb): void {
  profiles
    .command('list')
    .description('all profiles, with the counts of their failures')
    .addOption(choiceOption('--state <state>', 'only profiles of this state', ['new', 'active', 'gone']))
    .option('--limit <n>', 'how many; 100 when absent, with --json all', parsePositive)
    .json('print one JSON object a line')
    .examples('vitalsync profiles list --state gone')
    .does(async () => (await import('../commands/profiles.ts')).listProfiles)
}

function declareShow(profiles: Verb): void {
  profiles
    .command('show <externalId>')
    .description('one profile, stream by stream')
    .json('print it as JSON')
    .examples('vitalsync profiles show ada')
    .does(async () => (await import('../commands/profiles.ts')).showProfile)
}

/** A span such as `3d` or `36h`, in hours. */
function parseHours(text: string): number {
  const [, number, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? []
  if (number === undefined) throw new InvalidArgumentError('It must be a span such as 3d or 36h.')
  return Number(number) * (unit === 'd' ? 24 : 1)
}

function parseShare(text: string): number {
  const share = Number(text)
  if (!/^[\d.]+$/.test(text) || !(share <= 1)) throw new InvalidArgumentError('It must be a share from 0 to 1.')
  return share
}

function declareSilent(profiles: Verb): void {
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
    .json('print one JSON object a line')
    .examples(
      'vitalsync profiles silent --since 3d',
      'vitalsync profiles silent --unusual 0.99 --csv > silent.csv',
      'vitalsync profiles silent --watch --json | ./send-reminders',
    )
    .does(async (_context, { groups, watch }: { groups: boolean; watch: boolean }) => {
      const { printSilenceGroups, printSilent, watchSilence } = await import('../commands/profiles-silent.ts')
      return watch ? watchSilence : groups ? printSilenceGroups : printSilent
    })
}

function declareProfilesErase(profiles: Verb): void {
  profiles
    .command('erase <externalId>')
    .description('erase a profile upstream and here, for good, and prove it')
    .option('--yes', 'do not ask', false)
    .json('print the proof as JSON')
    .examples('vitalsync profiles erase ada --yes')
    .does(async () => (await import('../commands/profiles.ts')).runProfilesErase)
}
