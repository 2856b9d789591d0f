import { InvalidArgumentError, Option } from 'commander'
import { UsageProblem } from '../../base/errors.ts'
import { discardedFailures, dueNow } from '../../pipeline/ledger/retry.ts'
import { choiceOption, parseListNumber, parsePositive, pushedStreamNames, streamNames, type Verb } from './options.ts'

const parseCause = (text: string): string => {
  if (!/^[0-9a-f]{32}$/.test(text)) throw new InvalidArgumentError('It must be a cause of the list.')
  return text
}

const causeOption = () =>
  new Option('--cause <id>', 'only of this cause: `cause` of list --json, and on the dashboard').argParser(parseCause)

type Load = Parameters<Verb['does']>[0]

/** A verb without ids and without a filter must not act on everything. */
const onChosen =
  (load: Load): Load =>
  (context, given) => {
    const { by: _, ...choice } = Object(given)
    if (Object.values(choice).some((value) => value !== undefined)) return load(context, given)
    throw new UsageProblem('choose: neither ids nor a filter were given', { hint: 'Name ids, or give --all.' })
  }

export function declareFailures(program: Verb): void {
  const failures = program
    .command('failures')
    .description('jobs that failed, and windows that upstream refused')
    .examples('vitalsync failures list', 'vitalsync failures retry --all')
  failures
    .command('list')
    .description('newest first, with their reasons')
    .option('--profile <externalId>', 'only of this profile')
    .option('--reason <text>', 'only reasons that contain this text')
    .addOption(causeOption())
    .option('--limit <n>', 'how many', parsePositive, 100)
    .json('print one JSON object a line')
    .examples('vitalsync failures list --reason "status 400"')
    .does(async () => (await import('../commands/failures.ts')).listFailures)
  failures
    .command('show <id>')
    .description('one failure, and what to do about it')
    .json('print it as JSON')
    .examples('vitalsync failures show job:42:sync-profile')
    .does(async () => (await import('../commands/failures.ts')).showFailure)
  withFailureChoice(failures.command('retry [id...]'))
    .description(`make failures ${dueNow}`)
    .does(onChosen(async () => (await import('../commands/failures.ts')).retryFailures))
  withFailureChoice(failures.command('discard [id...]'))
    .description(`forget failures; ${discardedFailures}`)
    .does(onChosen(async () => (await import('../commands/failures.ts')).discardFailures))
}

/** Ids, or a filter, or all. */
const withFailureChoice = (command: Verb): Verb =>
  command
    .option('--profile <externalId>', 'all of this profile')
    .option('--reason <text>', 'all whose reason contains this text')
    .addOption(causeOption())
    .option('--all', 'all failures')
    .json('print how many, as JSON')
    .examples(`vitalsync failures ${command.name()} job:42:sync-profile`, `vitalsync failures ${command.name()} --all`)

export function declareQuarantine(program: Verb): void {
  const quarantine = program
    .command('quarantine')
    .description('records and items that did not fit their schema, with the reason')
    .examples('vitalsync quarantine list', 'vitalsync quarantine replay --all')
  withRecordFilter(quarantine.command('list'))
    .description('newest first, with their reasons')
    .option('--limit <n>', 'how many', parsePositive, 100)
    .json('print one JSON object a line')
    .examples('vitalsync quarantine list --way push')
    .does(async () => (await import('../commands/quarantine.ts')).listQuarantine)
  quarantine
    .command('show')
    .argument('<id>', 'its number', parseListNumber)
    .description('one record, with its content')
    .json('print it as JSON')
    .examples('vitalsync quarantine show 17')
    .does(async () => (await import('../commands/quarantine.ts')).showQuarantined)
  withRecordChoice(quarantine.command('replay'))
    .description('push items again, or read records again; what still does not fit is quarantined again')
    .does(onChosen(async () => (await import('../commands/quarantine.ts')).replayQuarantine))
  withRecordChoice(quarantine.command('discard'))
    .description('forget items and records; items are not pushed, and a record that upstream sends again comes back')
    .does(onChosen(async () => (await import('../commands/quarantine.ts')).discardQuarantined))
}

const withRecordFilter = (command: Verb): Verb =>
  command
    .option('--profile <externalId>', 'only of this profile')
    .addOption(
      choiceOption('--stream <name>', 'only of this stream', [...new Set([...pushedStreamNames, ...streamNames])]),
    )
    .addOption(choiceOption('--way <way>', 'only items to push, or only pulled records', ['push', 'pull']))
    .addOption(causeOption())

/** Ids, or a filter, or all. */
const withRecordChoice = (command: Verb): Verb =>
  withNumbers(withRecordFilter(command))
    .option('--all', 'everything in quarantine')
    .json('print how many, as JSON')
    .examples(
      `vitalsync quarantine ${command.name()} 17 18`,
      `vitalsync quarantine ${command.name()} --stream data-logs`,
    )

const withNumbers = (command: Verb): Verb =>
  command.argument('[id...]', 'their numbers', (text: string, before: string[] = []) => [
    ...before,
    parseListNumber(text),
  ])

export function declareDrift(program: Verb): void {
  const drift = program
    .command('drift')
    .description('what upstream says that is not known: fields, types, words and units')
    .examples('vitalsync drift list', 'vitalsync drift accept 3 4')
  const streamOption = () => choiceOption('--stream <name>', 'only of this stream', streamNames)
  drift
    .command('list')
    .description('what was not accepted: units first, then the newest')
    .option('--all', 'also what was accepted, and by whom', false)
    .addOption(streamOption())
    .json('print one JSON object a line')
    .examples('vitalsync drift list --stream scores')
    .does(async () => (await import('../commands/drift.ts')).runDriftList)
  withNumbers(drift.command('accept'))
    .description('call it known: it is reported no more, and days in another unit settle with their next reading')
    .option('--all', 'everything that was reported')
    .addOption(streamOption())
    .option('--by <name>', 'who accepts it, for the audit; by default the user of this machine')
    .json('print how many, as JSON')
    .examples('vitalsync drift accept 3 4', 'vitalsync drift accept --stream biomarkers --by ada')
    .does(onChosen(async () => (await import('../commands/drift.ts')).runDriftAccept))
}
