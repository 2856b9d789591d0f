import { UsageProblem } from '../errors.ts'
import { type Failure, type FailureFilter, openFailures } from '../warehouse/failures.ts'
import type { CommandContext } from './engines.ts'
import { withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { number, table } from './terminal.ts'

export async function listFailures(context: CommandContext & FailureFilter & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, (pool) => openFailures({ pool }).list(context, limit))
  if (terminal.json) for (const failure of found) terminal.printJson(failure)
  else terminal.print(found.length === 0 ? 'No failures.' : failureTable(found))
  return 0
}

function failureTable(found: readonly Failure[]): string {
  return table(
    ['failure', 'profile', 'tries', 'last', 'next try', 'reason'],
    found.map((one) => [
      one.id,
      one.externalId,
      one.attempts,
      minute(one.lastAt),
      minute(one.nextTryAt) || 'never',
      one.reason,
    ]),
  )
}

export async function showFailure(context: CommandContext & { id: string }): Promise<number> {
  const { terminal, id } = context
  const [found] = await withWarehouse(context, (pool) => openFailures({ pool }).list({ ids: [id] }, 1))
  if (!found) throw noSuch('failure', 'vitalsync failures list')
  if (terminal.json) terminal.printJson(found)
  else {
    const span = found.startAt && found.endAt ? ` ${found.startAt.toISOString()} to ${found.endAt.toISOString()}` : ''
    terminal.print(
      [
        `${found.kind} ${found.subject}${span} of ${found.externalId}`,
        `reason:   ${found.reason}${found.status === null ? '' : ` (status ${found.status})`}`,
        `what to do: ${found.hint ?? 'see the worker’s log at level error'}`,
        `tried ${number(found.attempts)} times, first ${found.firstAt.toISOString()}, last ${found.lastAt.toISOString()}`,
        found.nextTryAt ? `next try: ${found.nextTryAt.toISOString()}` : 'next try: never, unless retried',
      ].join('\n'),
    )
  }
  return 0
}

export const noSuch = (what: string, list: string) =>
  new UsageProblem(`show ${what}: there is none of this id`, { hint: `The ids: ${list}.` })

export async function retryFailures(context: CommandContext & FailureFilter): Promise<number> {
  const { terminal } = context
  const retried = await withWarehouse(context, (pool) => openFailures({ pool }).retry(context))
  if (terminal.json) terminal.printJson({ retried })
  else
    terminal.print(
      `${number(retried)} are due again. The next sweep takes them; at once: vitalsync sync. A failed back-fill goes on with vitalsync backfill, an erasure with vitalsync profiles erase.`,
    )
  return missing(retried, context)
}

export async function discardFailures(context: CommandContext & FailureFilter): Promise<number> {
  const { terminal } = context
  const discarded = await withWarehouse(context, (pool) => openFailures({ pool }).discard(context))
  if (terminal.json) terminal.printJson({ discarded })
  else terminal.print(`${number(discarded)} discarded. Windows among them stay gaps and are not asked for again.`)
  return missing(discarded, context)
}

/** Ids that were given and not found are a failure; a filter that matches nothing is none. */
const missing = (found: number, { ids }: FailureFilter) => (ids && found < new Set(ids).size ? 1 : 0)
