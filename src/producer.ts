import type { Lane } from './budget.ts'
import { type Job, scopeOf } from './job.ts'
import type { ProfilePage, Profiles } from './warehouse/profiles.ts'
import type { Run, Runs } from './warehouse/runs.ts'

/** Says who is due and which job each of them gets. Reads the ledger; knows nothing of the queue. */
export type Producer = {
  readonly name: string
  readonly lane: Lane
  readonly job: Job
  /** The next due profiles after `afterId`, in order. An empty page ends the run's production. */
  page(run: Run, afterId: string, context: { profiles: Profiles; limit: number }): Promise<ProfilePage>
  payload(run: Run, profileId: string): Readonly<Record<string, unknown>>
}

export const defineProducer = (producer: Producer): Producer => Object.freeze(producer)

export type ProduceContext = {
  readonly profiles: Profiles
  readonly runs: Runs
  readonly queue: {
    enqueue(lane: Lane, orders: readonly ProducedOrder[]): Promise<void>
    backlog(lane: Lane): Promise<{ waiting: number; delayed: number }>
  }
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly limits: ProduceLimits
}

type ProducedOrder = {
  job: string
  payload: Readonly<Record<string, unknown>>
  scope: string
  runId: string
  profileId: string
  attemptsMax: number
}

export type ProduceLimits = {
  /** How many profiles one page holds: what the producer keeps in memory. */
  readonly pageSize: number
  /** Above this many jobs that wait, for their turn or their next attempt, the producer pauses: what the queue keeps in memory. */
  readonly backlogMax: number
  readonly pauseMs: number
}

/**
 * Enqueues one job for each due profile, page by page. What is ordered is noted first, so whoever takes the run over, or
 * finds the queue emptied, begins with the orders that are still open and goes on where the former producer had come to.
 * Enqueuing a page twice is harmless, for a profile has at most one waiting job of a kind and scope.
 */
export async function produce(producer: Producer, run: Run, context: ProduceContext): Promise<number> {
  let enqueued = await enqueueOpen(producer, run, context)
  if (run.enqueuedAll) return enqueued
  const { limits, runs } = context
  for (let afterId = run.afterId; ; ) {
    await untilRoom(producer, run, context)
    const page = await producer.page(run, afterId, { profiles: context.profiles, limit: limits.pageSize })
    const orders = ordersOf(producer, run, page.ids)
    afterId = page.lastId
    await runs.order(run.id, { orders, afterId })
    await context.queue.enqueue(producer.lane, orders)
    enqueued += orders.length
    if (page.ids.length >= limits.pageSize) continue
    await runs.orderedAll(run.id)
    return enqueued
  }
}

/** Orders whose jobs may be lost with a producer that died, or with the queue. */
async function enqueueOpen(producer: Producer, run: Run, context: ProduceContext): Promise<number> {
  let enqueued = 0
  for (let afterId = '0'; ; ) {
    const { ids, lastId } = await context.runs.open(run.id, afterId, context.limits.pageSize)
    if (ids.length === 0) return enqueued
    await untilRoom(producer, run, context)
    await context.queue.enqueue(producer.lane, ordersOf(producer, run, ids))
    enqueued += ids.length
    afterId = lastId
  }
}

async function untilRoom({ lane }: Producer, run: Run, { limits, queue, runs, sleep, signal }: ProduceContext) {
  for (;;) {
    signal.throwIfAborted()
    const { waiting, delayed } = await queue.backlog(lane)
    if (waiting + delayed <= limits.backlogMax) return
    await runs.touch(run.id)
    await sleep(limits.pauseMs, signal)
  }
}

const ordersOf = ({ job, payload }: Producer, run: Run, profileIds: readonly string[]): ProducedOrder[] =>
  profileIds.map((profileId) => {
    const given = payload(run, profileId)
    return {
      job: job.name,
      payload: given,
      scope: scopeOf(given),
      runId: run.id,
      profileId,
      attemptsMax: job.attemptsMax,
    }
  })
