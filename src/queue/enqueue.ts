import { createHash } from 'node:crypto'
import { lanes } from '../fleet/budget.ts'
import { type Order, type OrderKey, paramsText } from '../transfer/order.ts'
import type { Job } from '../work/job.ts'
import type { OrderQueue } from '../work/producer.ts'
import type { JobData, LaneQueue, QueueEngine } from './engine.ts'
import { RETRY_BACKOFF } from './retry-delay.ts'

export type Enqueuer = OrderQueue & {
  /** Nothing waits and nothing is under way, in any lane. */
  isIdle(): Promise<boolean>
  /** Removes the waiting jobs of these orders from every lane, and returns how many. A job that is under way stays. */
  removeWaiting(orders: readonly OrderKey[]): Promise<number>
}

/** After an enqueue of this many jobs the engine refreshes its statistics. */
const LARGE_BULK_MIN = 1000

export function createEnqueuer(engine: QueueEngine): Enqueuer {
  const backlog: Enqueuer['backlog'] = async (lane) => {
    const counts = await engine.queue(lane).getJobCounts('waiting', 'prioritized', 'active', 'delayed')
    return {
      waiting: (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0),
      active: counts['active'] ?? 0,
      delayed: counts['delayed'] ?? 0,
    }
  }
  return {
    async enqueue(lane, job, orders) {
      if (orders.length === 0) return
      await engine.queue(lane).addBulk(orders.map((order) => bullJobOf(order, job)))
      if (orders.length >= LARGE_BULK_MIN) await engine.refreshStatistics()
    },
    backlog,
    async isIdle() {
      const backlogs = await Promise.all(lanes.map((lane) => backlog(lane)))
      return backlogs.every(({ waiting, active, delayed }) => waiting + active + delayed === 0)
    },
    async removeWaiting(orders) {
      const ids = orders.map(deduplicationId)
      const removed = await Promise.all(lanes.map((lane) => removeFrom(engine.queue(lane), ids)))
      return removed.reduce((sum, n) => sum + n, 0)
    },
  }
}

/**
 * An order is dropped when a job of the same deduplication id waits. The params are part of the id: dropped for a job of
 * another range, an order would be lost, for that job does not read its range.
 */
function deduplicationId({ job, profileId, params }: OrderKey): string {
  const text = paramsText(params)
  const digest = text === '' ? '' : `.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  return `${job}.${profileId}${digest}`
}

function bullJobOf(order: Order, { attemptsMax }: Pick<Job, 'attemptsMax'>) {
  const { runId, profileId, params } = order
  return {
    name: order.job,
    data: { runId, profileId, params } satisfies JobData,
    opts: {
      attempts: attemptsMax,
      backoff: { type: RETRY_BACKOFF },
      // Nothing reads a job after its end: the ledger, the failures and the runs say what happened. And the queue keeps
      // nothing about a profile that is erased.
      removeOnComplete: true,
      removeOnFail: true,
      deduplication: { id: deduplicationId(order), keepLastIfActive: true },
    },
  }
}

/** When the job was enqueued that has been waiting the longest; undefined when none waits. Milliseconds since 1970. */
export async function oldestJobMs(queue: LaneQueue): Promise<number | undefined> {
  const [oldest] = await queue.getJobs(['waiting', 'prioritized'], 0, 0, true)
  return oldest?.timestamp
}

async function removeFrom(queue: LaneQueue, dedupIds: readonly string[]): Promise<number> {
  let removed = 0
  for (const id of dedupIds) {
    const jobId = await queue.getDeduplicationJobId(id)
    const job = jobId ? await queue.getJob(jobId) : undefined
    if (!job || (await job.isActive())) continue
    // The removal fails when a worker has just started the job: the job then finds that its profile is gone.
    const isRemoved = await job.remove().then(
      () => true,
      () => false,
    )
    if (isRemoved) removed += 1
  }
  return removed
}
