import type { Lane } from './budget.ts'
import type { Job } from './job.ts'
import type { ProfilePage, Profiles } from './warehouse/profiles.ts'
import type { Run, Runs } from './warehouse/runs.ts'

/** Says who is due and which job each of them gets. Reads the ledger; knows nothing of the queue. */
export type Producer = {
  readonly name: string
  readonly lane: Lane
  readonly job: Job
  /** Produced again from its start, a run would ask only for those who are not finished. */
  readonly isResumable?: boolean
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
 * Enqueues one job for each due profile, page by page, and notes after each page how far it came: whoever takes the run
 * over goes on from there. Enqueuing a page twice is harmless, for a profile has at most one waiting job of a kind.
 */
export async function produce(producer: Producer, run: Run, context: ProduceContext): Promise<number> {
  const { limits, queue, runs, signal } = context
  let afterId = run.afterId
  let enqueued = 0
  for (;;) {
    signal.throwIfAborted()
    const { waiting, delayed } = await queue.backlog(producer.lane)
    if (waiting + delayed > limits.backlogMax) {
      // Shows life, so that no other process takes the run over while it only waits.
      await runs.produced(run.id, { afterId, enqueued: 0, all: false })
      await context.sleep(limits.pauseMs, signal)
      continue
    }
    const page = await producer.page(run, afterId, { profiles: context.profiles, limit: limits.pageSize })
    const orders = page.ids.map((profileId) => ({
      job: producer.job.name,
      payload: producer.payload(run, profileId),
      runId: run.id,
      profileId,
      attemptsMax: producer.job.attemptsMax,
    }))
    await queue.enqueue(producer.lane, orders)
    enqueued += orders.length
    afterId = page.lastId
    const all = page.ids.length < limits.pageSize
    await runs.produced(run.id, { afterId, enqueued: orders.length, all })
    if (all) return enqueued
  }
}
