import { setImmediate } from 'node:timers/promises'
import { isFulfilled } from '../../base/sleep.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import { type Lane, lanes } from '../fleet/budget.ts'
import { hashRangeOf } from '../fleet/hash-ranges.ts'
import { JOB_FORM, type Order, type OrderKey, paramsText } from '../transfer/order.ts'
import type { Job } from '../work/job.ts'
import type { Backlog, OrderQueue } from '../work/producer.ts'
import type { JobData, LaneQueue, QueueEngine } from './engine.ts'
import { backlogOf, queuesInUse } from './queues-in-use.ts'
import { RETRY_BACKOFF } from './retries.ts'

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
    const backlogs = await Promise.all((await queuesInUse(engine, lane)).map(backlogOf))
    const sum = (state: keyof Backlog) => backlogs.reduce((total, backlog) => total + backlog[state], 0)
    return { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed') }
  }
  return {
    async enqueue(lane, job, orders) {
      if (orders.length === 0) return
      const byPart = Map.groupBy(orders, ({ profileId }) => hashRangeOf(profileId, engine.parts))
      const adding = [...byPart].map(([part, orders]) => addInPortions(engine.queue(lane, part), orders, job))
      await Promise.all(adding)
      if (orders.length >= LARGE_BULK_MIN) await engine.refreshStatistics()
    },
    backlog,
    async isIdle() {
      const backlogs = await Promise.all(lanes.map((lane) => backlog(lane)))
      return backlogs.every(({ waiting, active, delayed }) => waiting + active + delayed === 0)
    },
    async removeWaiting(orders) {
      const ids = orders.flatMap((order) => forms.map((form) => deduplicationId(order, form)))
      const queues = (await Promise.all(lanes.map((lane) => queuesInUse(engine, lane)))).flat()
      const removed = await Promise.all(queues.map((queue) => removeFrom(queue, ids)))
      return removed.reduce((sum, n) => sum + n, 0)
    },
  }
}

/** The server adds one portion while this process writes the next. */
const PORTION = 100

async function addInPortions(queue: LaneQueue, orders: readonly Order[], job: Pick<Job, 'attemptsMax'>): Promise<void> {
  const adding: Promise<unknown>[] = []
  for (let from = 0; from < orders.length; from += PORTION) {
    // The bytes of one turn of the event loop go out together.
    if (from > 0) await setImmediate()
    const portion = queue.addBulk(orders.slice(from, from + PORTION).map((order) => bullJobOf(order, job)))
    portion.catch(() => undefined) // `adding` reports it
    adding.push(portion)
  }
  await Promise.all(adding)
}

/** The forms of this version, of those before it, and of the next, which may have worked here before a roll-back. */
const forms = Array.from({ length: JOB_FORM + 1 }, (_, index) => index + 1)

/**
 * An order is dropped when a job of the same deduplication id waits. The params are part of the id: dropped for a job of
 * another range, an order would be lost, for that job does not read its range. So is the form: the job of a newer version
 * may find no worker.
 */
function deduplicationId({ job, profileId, params }: OrderKey, form: number): string {
  const text = paramsText(params)
  const digest = text === '' ? '' : `.${hexDigestOf(text, 16)}`
  return `${job}${form === 1 ? '' : `@${form}`}.${profileId}${digest}`
}

function bullJobOf(order: Order, { attemptsMax }: Pick<Job, 'attemptsMax'>) {
  const { runId, profileId, params } = order
  return {
    name: order.job,
    data: { runId, profileId, params, form: JOB_FORM } satisfies JobData,
    opts: {
      attempts: attemptsMax,
      backoff: { type: RETRY_BACKOFF },
      // Nothing reads a job after its end: the ledger, the failures and the runs say what happened. And the queue keeps
      // nothing about a profile that is erased.
      removeOnComplete: true,
      removeOnFail: true,
      deduplication: { id: deduplicationId(order, JOB_FORM), keepLastIfActive: true },
    },
  }
}

/** When the job of a lane was enqueued that has been waiting the longest; undefined when none waits. Milliseconds since 1970. */
export async function oldestJobMs(engine: QueueEngine, lane: Lane): Promise<number | undefined> {
  const queues = await queuesInUse(engine, lane)
  const firsts = await Promise.all(queues.map((queue) => queue.getJobs(['waiting', 'prioritized'], 0, 0, true)))
  const times = firsts.flat().map(({ timestamp }) => timestamp)
  return times.length === 0 ? undefined : Math.min(...times)
}

async function removeFrom(queue: LaneQueue, dedupIds: readonly string[]): Promise<number> {
  let removed = 0
  for (const id of dedupIds) {
    const jobId = await queue.getDeduplicationJobId(id)
    const job = jobId ? await queue.getJob(jobId) : undefined
    if (!job || (await job.isActive())) continue
    // The removal fails when a worker has just started the job: the job then finds that its profile is gone.
    if (await isFulfilled(job.remove())) removed += 1
  }
  return removed
}
