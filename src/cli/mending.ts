import { type Command, InvalidArgumentError } from 'commander'
import { UsageProblem } from '../errors.ts'
import { itemKinds } from '../intake/items.ts'
import { choice, examples, jsonOption, positive, type Rim, streamNames } from './rim.ts'

type FailureOptions = { profile?: string; reason?: string; all?: boolean; json: boolean }

/** What did not go well, and what to do about it. */
export function declareMending(program: Command, rim: Rim): void {
  declareFailures(program, rim)
  declareQuarantine(program, rim)
}

function declareFailures(program: Command, rim: Rim): void {
  const failures = program
    .command('failures')
    .description('jobs that ended without success, and windows that upstream would not give')
    .addHelpText('after', examples('vitalsync failures list', 'vitalsync failures retry --all'))
  failures
    .command('list')
    .description('newest first, with their reasons')
    .option('--profile <externalId>', 'only of this person')
    .option('--reason <text>', 'only where the reason holds this text')
    .option('--limit <n>', 'how many', positive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync failures list --reason "status 400"'))
    .action(async (options: FailureOptions & { limit: number }) => {
      const { profile, reason, limit } = options
      const { listFailures } = await import('../commands/failures.ts')
      rim.exit(await listFailures({ ...rim.context(options), profile, reason, limit }))
    })
  failures
    .command('show <id>')
    .description('one of them, and what to do about it')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync failures show job:42:sync-profile'))
    .action(async (id: string, options: { json: boolean }) => {
      const { showFailure } = await import('../commands/failures.ts')
      rim.exit(await showFailure({ ...rim.context(options), id }))
    })
  const changes = {
    retry: 'make them due now for the next sweep or sync; what a back-fill failed at goes into the queue again',
    discard: 'forget failed jobs, and ask for refused windows no more',
  }
  for (const [name, about] of Object.entries(changes)) {
    failures
      .command(`${name} [id...]`)
      .description(about)
      .option('--profile <externalId>', 'all of this person')
      .option('--reason <text>', 'all whose reason holds this text')
      .option('--all', 'all there are')
      .addOption(jsonOption('print how many, as JSON'))
      .addHelpText(
        'after',
        examples(`vitalsync failures ${name} job:42:sync-profile`, `vitalsync failures ${name} --all`),
      )
      .action(async (ids: string[], options: FailureOptions) => {
        const { profile, reason, all } = options
        requireSome(ids, profile ?? reason ?? all)
        const { discardFailures, retryFailures } = await import('../commands/failures.ts')
        const run = name === 'retry' ? retryFailures : discardFailures
        rim.exit(await run({ ...rim.context(options), ids: ids.length > 0 ? ids : undefined, profile, reason }))
      })
  }
}

type QuarantineOptions = { profile?: string; stream?: string; way?: 'push' | 'pull'; all?: boolean; json: boolean }

const filtersOf = ({ profile, stream, way }: QuarantineOptions) => ({ profile, stream, direction: way })

function declareQuarantine(program: Command, rim: Rim): void {
  const quarantine = program
    .command('quarantine')
    .description('records and items that did not fit, kept whole with the reason')
    .addHelpText('after', examples('vitalsync quarantine list', 'vitalsync quarantine replay --all'))
  const filtered = (command: Command) =>
    command
      .option('--profile <externalId>', 'only of this person')
      .addOption(choice('--stream <name>', 'only of this stream', [...new Set([...itemKinds, ...streamNames])]))
      .addOption(choice('--way <way>', 'only what was to be pushed, or was pulled', ['push', 'pull']))
  filtered(quarantine.command('list'))
    .description('newest first, with their reasons')
    .option('--limit <n>', 'how many', positive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .addHelpText('after', examples('vitalsync quarantine list --way push'))
    .action(async (options: QuarantineOptions & { limit: number }) => {
      const { listQuarantine } = await import('../commands/quarantine.ts')
      rim.exit(await listQuarantine({ ...rim.context(options), ...filtersOf(options), limit: options.limit }))
    })
  quarantine
    .command('show')
    .argument('<id>', 'its number', itsNumber)
    .description('one of them, with its content')
    .addOption(jsonOption('print it as JSON'))
    .addHelpText('after', examples('vitalsync quarantine show 17'))
    .action(async (id: string, options: { json: boolean }) => {
      const { showQuarantined } = await import('../commands/quarantine.ts')
      rim.exit(await showQuarantined({ ...rim.context(options), id }))
    })
  filtered(quarantine.command('replay'))
    .argument('[id...]', 'their numbers', (text: string, before: string[] | undefined) => [
      ...(before ?? []),
      itsNumber(text),
    ])
    .description('push them again, or ask upstream again; what still does not fit comes back')
    .option('--all', 'all there are')
    .addOption(jsonOption('print how many, as JSON'))
    .addHelpText(
      'after',
      examples('vitalsync quarantine replay 17 18', 'vitalsync quarantine replay --stream data-logs'),
    )
    .action(async (given: string[] | undefined, options: QuarantineOptions) => {
      const ids = given ?? []
      requireSome(ids, options.profile ?? options.stream ?? options.way ?? options.all)
      const filter = { ...filtersOf(options), ids: ids.length > 0 ? ids : undefined }
      const { replayQuarantine } = await import('../commands/quarantine.ts')
      rim.exit(await replayQuarantine({ ...rim.context(options), ...filter }))
    })
}

function itsNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a number of the list.')
  return text
}

/** Nothing given must not mean everything. */
function requireSome(ids: readonly string[], filter: string | boolean | undefined): void {
  if (ids.length > 0 || filter !== undefined) return
  throw new UsageProblem('choose: neither ids nor a filter were given', { hint: 'Name some, or say --all.' })
}
