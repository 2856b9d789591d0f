import { createHash } from 'node:crypto'
import type { Lane } from '../budget.ts'
import { lanes } from '../budget.ts'
import type { LaneQueue, QueueEngine } from './engine.ts'

/** A job to be put into the queue. Of its name and scope it is the only one that waits for that profile. */
export type Order = {
  readonly job: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly scope: string
  readonly runId: string
  readonly profileId: string
  readonly attemptsMax: number
}

export type Enqueuer = {
  enqueue(lane: Lane, orders: readonly Order[]): Promise<void>
  /** How many jobs of the lane wait or are being worked on. */
  backlog(lane: Lane): Promise<Backlog>
  /** Takes what waits for a profile, in one of these scopes, out of every lane; what is being worked on stays. */
  forget(profileId: string, scopes: readonly string[]): Promise<number>
}

export type Backlog = { readonly waiting: number; readonly active: number; readonly delayed: number }

/** From this many jobs on an enqueue counts as large and the engine is told. */
const LARGE = 1000

export function createEnqueuer(engine: QueueEngine): Enqueuer {
  return {
    async enqueue(lane, orders) {
      if (orders.length === 0) return
      await engine.queue(lane).addBulk(orders.map(toBullJob))
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
    async forget(profileId, scopes) {
      const ids = dedupNames.flatMap((job) => scopes.map((scope) => dedupId({ job, profileId, scope })))
      const removed = await Promise.all(lanes.map((lane) => forgetIn(engine.queue(lane), ids)))
      return removed.reduce((sum, n) => sum + n, 0)
    },
  }
}

const dedupNames = ['sync-profile', 'backfill-profile']

/**
 * By this an order is folded into a job that waits. The scope is part of it: folded into a job of another range, an order
 * would be lost, for that job knows nothing of it.
 */
function dedupId({ job, profileId, scope }: Pick<Order, 'job' | 'profileId' | 'scope'>): string {
  const digest = scope === '' ? '' : `.${createHash('sha256').update(scope).digest('hex').slice(0, 16)}`
  return `${job}.${profileId}${digest}`
}

function toBullJob(order: Order) {
  return {
    name: order.job,
    data: { payload: order.payload, runId: order.runId },
    opts: {
      attempts: order.attemptsMax,
      backoff: { type: 'exponential', delay: 5000, jitter: 0.5 },
      // Nothing is looked up in the queue afterwards: the ledger, the failures and the runs say what happened. And
      // nothing about a person who is erased stays behind in it.
      removeOnComplete: true,
      removeOnFail: true,
      deduplication: { id: dedupId(order), keepLastIfActive: true },
    },
  }
}

async function forgetIn(queue: LaneQueue, dedupIds: readonly string[]): Promise<number> {
  let removed = 0
  for (const id of dedupIds) {
    const jobId = await queue.getDeduplicationJobId(id)
    const job = jobId ? await queue.getJob(jobId) : undefined
    if (!job || (await job.isActive())) continue
    // Refused when a worker has just taken it up: then it finds that there is nobody any more.
    const isGone = await job.remove().then(
      () => true,
      () => false,
    )
    if (isGone) removed += 1
  }
  return removed
}
