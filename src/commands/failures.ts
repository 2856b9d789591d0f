import { streams } from '../../config/streams.ts'
import { UsageProblem } from '../errors.ts'
import { openQueueEngine } from '../queue/engine.ts'
import { createEnqueuer } from '../queue/enqueue.ts'
import { type BackfillAgain, type Failure, type FailureFilter, openFailures } from '../warehouse/failures.ts'
import { openProfiles } from '../warehouse/profiles.ts'
import { openRuns } from '../warehouse/runs.ts'
import type { Closing } from './closing.ts'
import type { CommandContext } from './engines.ts'
import { requireKnown } from './gaps.ts'
import { requireQueue, withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { number, type Paint, shaded, table } from './terminal.ts'
import { produceRun } from './work.ts'

export async function listFailures(context: CommandContext & FailureFilter & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, async (pool) => {
    await requireKnown(pool, context.profile)
    return openFailures({ pool }).list(context, limit)
  })
  if (terminal.json) for (const failure of found) terminal.printJson(failure)
  else terminal.print(found.length === 0 ? 'No failures.' : failureTable(found, terminal.paint))
  return 0
}

function failureTable(found: readonly Failure[], paint: Paint): string {
  return table(
    ['failure', 'profile', 'tries', 'last', 'next try', 'reason'],
    found.map((one) => [
      one.id,
      one.externalId,
      one.attempts,
      minute(one.lastAt),
      one.nextTryAt ? minute(one.nextTryAt) : shaded('never', 'odd'),
      one.reason,
    ]),
    paint,
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

const NONE = 'Nothing to do: no failure fits. Those there are: vitalsync failures list.'

export async function retryFailures(context: CommandContext & FailureFilter): Promise<number> {
  const { terminal } = context
  const { due, enqueued } = await withWarehouse(context, async (pool, { queueUrl, closing }) => {
    await requireKnown(pool, context.profile)
    const failures = openFailures({ pool })
    const again = await failures.again(context)
    const queue = again.length > 0 ? await openQueue(queueUrl, closing) : undefined
    // Before the jobs: what is refused until later they would leave out.
    const made = await failures.retry(context)
    const pipeline = queue && { queue, runs: openRuns({ pool }), profiles: openProfiles({ pool, streams }) }
    if (pipeline) for (const one of again) await order({ ...context, pipeline }, one)
    return { due: made, enqueued: again.reduce((sum, one) => sum + one.failures, 0) }
  })
  const retried = due + enqueued
  if (terminal.json) terminal.printJson({ retried, enqueued })
  else {
    const parts = [
      ...(due > 0 ? [`${number(due)} are due again: the next sweep takes them; at once: vitalsync sync.`] : []),
      ...(enqueued > 0
        ? [`${number(enqueued)} wait in the queue for a worker: vitalsync up, or vitalsync worker.`]
        : []),
    ]
    terminal.print(parts.join('\n') || NONE)
  }
  return missing(retried, context)
}

async function openQueue(queueUrl: string, closing: Closing) {
  const engine = closing.add(await openQueueEngine(queueUrl), 'queue')
  await requireQueue(engine)
  return createEnqueuer(engine)
}

async function order(context: Parameters<typeof produceRun>[0], { params, profileIds }: BackfillAgain): Promise<void> {
  await produceRun(context, await context.pipeline.runs.start('backfill', { ...params, profileIds }))
}

export async function discardFailures(context: CommandContext & FailureFilter): Promise<number> {
  const { terminal } = context
  const discarded = await withWarehouse(context, async (pool) => {
    await requireKnown(pool, context.profile)
    return openFailures({ pool }).discard(context)
  })
  if (terminal.json) terminal.printJson({ discarded })
  else if (discarded === 0) terminal.print(NONE)
  else terminal.print(`${number(discarded)} discarded. Windows among them stay gaps and are not asked for again.`)
  return missing(discarded, context)
}

/** Ids that were given and not found are a failure; a filter that matches nothing is none. */
const missing = (found: number, { ids }: FailureFilter) => (ids && found < new Set(ids).size ? 1 : 0)
