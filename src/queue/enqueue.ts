import type { Lane } from '../budget.ts'
import { lanes } from '../budget.ts'
import type { LaneQueue, QueueEngine } from './engine.ts'

/** A job to be put into the queue. `profileId` makes it the only one of its name that waits for that profile. */
export type Order = {
  readonly job: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly runId: string | undefined
  readonly profileId?: string
  readonly attemptsMax: number
}

export type Enqueuer = {
  enqueue(lane: Lane, orders: readonly Order[]): Promise<void>
  /** How many jobs of the lane wait or are being worked on. */
  backlog(lane: Lane): Promise<Backlog>
  /** Takes everything about a profile out of every lane, but what is being worked on. */
  forget(profileId: string): Promise<number>
}

export type Backlog = { readonly waiting: number; readonly active: number; readonly delayed: number }

/** From this many jobs on an enqueue counts as large and the engine is told. */
const LARGE = 1000
/** How many ended jobs a lane keeps, for a person who wants to look. */
const KEPT_MAX = 1000

export function createEnqueuer(engine: QueueEngine): Enqueuer {
  return {
    async enqueue(lane, orders) {
      if (orders.length === 0) return
      await engine.queue(lane).addBulk(orders.map((order) => toBullJob(engine, order)))
      if (orders.length >= LARGE) await engine.settle()
    },
    async backlog(lane) {
      const counts = await engine.queue(lane).getJobCounts('waiting', 'prioritized', 'active', 'delayed')
      return {
        waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
        active: counts['active'] ?? 0,
        delayed: counts['delayed'] ?? 0,
      }
    },
    async forget(profileId) {
      const removed = await Promise.all(lanes.map((lane) => forgetIn(engine.queue(lane), profileId)))
      return removed.reduce((sum, n) => sum + n, 0)
    },
  }
}

const dedupNames = ['sync-profile', 'backfill-profile', 'register-profile', 'erase-profile']
const dedupId = (job: string, profileId: string) => `${job}.${profileId}`

function toBullJob(engine: QueueEngine, order: Order) {
  return {
    name: order.job,
    data: { payload: order.payload, runId: order.runId },
    opts: {
      attempts: order.attemptsMax,
      backoff: { type: 'exponential', delay: 5000, jitter: 0.5 },
      // Nothing is looked up in the queue afterwards: the ledger, the failures and the runs say what happened.
      removeOnComplete: engine.kind === 'redis' ? true : { count: KEPT_MAX },
      removeOnFail: { count: KEPT_MAX },
      ...(order.profileId === undefined
        ? {}
        : { deduplication: { id: dedupId(order.job, order.profileId), keepLastIfActive: true } }),
    },
  }
}

async function forgetIn(queue: LaneQueue, profileId: string): Promise<number> {
  const waiting = await Promise.all(
    dedupNames.map(async (name) => {
      const jobId = await queue.getDeduplicationJobId(dedupId(name, profileId))
      return jobId ? queue.getJob(jobId) : undefined
    }),
  )
  const ended = await queue.getJobs(['failed', 'completed'], 0, KEPT_MAX)
  let removed = 0
  for (const job of [...waiting, ...ended]) {
    if (!job || !isAbout(job.data.payload, profileId) || (await job.isActive())) continue
    // Refused when a worker has just taken it up: then it finds that there is nobody any more.
    const isGone = await job.remove().then(
      () => true,
      () => false,
    )
    if (isGone) removed += 1
  }
  return removed
}

const isAbout = (payload: unknown, profileId: string) =>
  typeof payload === 'object' && payload !== null && 'profileId' in payload && payload.profileId === profileId
