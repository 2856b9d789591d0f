import { discardedFailures, dueNow } from '../../pipeline/ledger/retry.ts'
import { type CliProcess, causeOption, jsonOption, parsePositive, requireIdsOrFilter, type Verb } from './options.ts'

export function declareFailures(program: Verb, cli: CliProcess): void {
  const failures = program
    .command('failures')
    .description('jobs that failed, and windows that upstream refused')
    .examples('vitalsync failures list', 'vitalsync failures retry --all')
  declareList(failures, cli)
  declareShow(failures, cli)
  declareRetry(failures, cli)
  declareDiscard(failures, cli)
}

type FilterOptions = { profile?: string; reason?: string; cause?: string; json: boolean }

function declareList(failures: Verb, cli: CliProcess): void {
  failures
    .command('list')
    .description('newest first, with their reasons')
    .option('--profile <externalId>', 'only of this profile')
    .option('--reason <text>', 'only reasons that contain this text')
    .addOption(causeOption())
    .option('--limit <n>', 'how many', parsePositive, 100)
    .addOption(jsonOption('print one JSON object a line'))
    .examples('vitalsync failures list --reason "status 400"')
    .action(async ({ json, ...options }: FilterOptions & { limit: number }) => {
      const { listFailures } = await import('../commands/failures.ts')
      await listFailures(cli.context({ json }), options)
    })
}

function declareShow(failures: Verb, cli: CliProcess): void {
  failures
    .command('show <id>')
    .description('one failure, and what to do about it')
    .addOption(jsonOption('print it as JSON'))
    .examples('vitalsync failures show job:42:sync-profile')
    .action(async (id: string, { json }: { json: boolean }) => {
      const { showFailure } = await import('../commands/failures.ts')
      await showFailure(cli.context({ json }), { id })
    })
}

type ChoiceOptions = FilterOptions & { all?: boolean }

function declareRetry(failures: Verb, cli: CliProcess): void {
  withChoice(failures, 'retry')
    .description(`make failures ${dueNow}`)
    .action(async (ids: string[], { json, ...options }: ChoiceOptions) => {
      const filter = filterOf(ids, options)
      const { retryFailures } = await import('../commands/failures.ts')
      await retryFailures(cli.context({ json }), filter)
    })
}

function declareDiscard(failures: Verb, cli: CliProcess): void {
  withChoice(failures, 'discard')
    .description(`forget failures; ${discardedFailures}`)
    .action(async (ids: string[], { json, ...options }: ChoiceOptions) => {
      const filter = filterOf(ids, options)
      const { discardFailures } = await import('../commands/failures.ts')
      await discardFailures(cli.context({ json }), filter)
    })
}

/** Ids, or a filter, or all. */
function withChoice(failures: Verb, name: string): Verb {
  return failures
    .command(`${name} [id...]`)
    .option('--profile <externalId>', 'all of this profile')
    .option('--reason <text>', 'all whose reason contains this text')
    .addOption(causeOption())
    .option('--all', 'all failures')
    .addOption(jsonOption('print how many, as JSON'))
    .examples(`vitalsync failures ${name} job:42:sync-profile`, `vitalsync failures ${name} --all`)
}

function filterOf(ids: readonly string[], { profile, reason, cause, all }: Omit<ChoiceOptions, 'json'>) {
  requireIdsOrFilter(ids, profile ?? reason ?? cause ?? all)
  return { ids: ids.length > 0 ? ids : undefined, profile, reason, cause }
}
