import { z } from 'zod'
import { Problem } from '../../base/errors.ts'
import { SECOND } from '../../base/time/units.ts'
import type { Lane } from '../fleet/budget.ts'
import { isEverybody, PRODUCING_LEASE_RENEWED_MS } from '../fleet/profile-buckets.ts'
import type { JobParams, Order } from '../transfer/order.ts'
import type { ProfilePage } from '../transfer/planned-profile.ts'
import { isNodeOutage } from '../warehouse/postgres/sql-errors.ts'
import type { ProfileLists } from '../warehouse/profiles/profile-lists.ts'
import type { Profiles } from '../warehouse/profiles/stored-profiles.ts'
import type { RunBucket } from '../warehouse/runs/run-buckets.ts'
import type { Run, Runs } from '../warehouse/runs/stored-runs.ts'
import type { Job } from './job.ts'

/** Decides which profiles are due in a run and which job each of them gets. Reads the ledger; knows no queue. */
export type Producer<P extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly lane: Lane
  readonly job: Job
  /** The parameters that a run of this producer takes. */
  readonly params: P
  /** The next due profiles after `afterId`, in order of id. A page shorter than `limit` is the last one. */
  page(due: DueQuery<z.output<P>>, profiles: ProfileLists): Promise<ProfilePage>
  /** The job's params, the same for every profile of the run. */
  jobParams(params: z.output<P>): JobParams
}

type DueQuery<P> = { readonly run: Run; readonly params: P; readonly afterId: string; readonly limit: number }

export const defineProducer = <P extends z.ZodType>(producer: Producer<P>): Producer<P> => Object.freeze(producer)

/** How many jobs of a lane wait for their turn, are under way, and wait for their next attempt. */
export type Backlog = { readonly waiting: number; readonly active: number; readonly delayed: number }

/** The part of the queue that producers need. */
export type OrderQueue = {
  /** Enqueues orders of one job. An order whose like waits already is deduplicated. */
  enqueue(lane: Lane, job: Pick<Job, 'attemptsMax'>, orders: readonly Order[]): Promise<void>
  backlog(lane: Lane): Promise<Backlog>
}

export type ProduceContext = {
  readonly profiles: Pick<Profiles, 'ofBucket'>
  readonly runs: Runs
  readonly queue: OrderQueue
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly limits: ProduceLimits
  /** Returns only when the whole run is enqueued, by whatever process: takes over what others leave. */
  readonly untilAll?: boolean
}

type ProduceLimits = {
  /** How many profiles one page holds: bounds the memory of the producer. */
  readonly pageSize: number
  /**
   * A producer pauses while more jobs than this wait for their turn or their next attempt: bounds the memory of the queue. Each
   * process that produces may add one page beyond it.
   */
  readonly backlogMax: number
  readonly pauseMs: number
}

/** `isLast`: this process enqueued the last of the run. */
export type Produced = { readonly enqueued: number; readonly isLast: boolean }

/** How long a bucket whose node is away is left alone. */
const REST_MS = 5 * SECOND
const TAKEABLE_EVERY_MS = SECOND

/**
 * Enqueues one job for each due profile of a run, page by page, as long as the run has a bucket that no other process enqueues.
 *
 * A process leases a bucket for each page, so that any number of processes produce a run together. Each page is recorded in
 * the warehouse before it is enqueued. A process that takes a bucket over first enqueues the open orders of its last page; one
 * that produces a run again, as after the queue was emptied, first enqueues all open orders. Enqueuing a page twice is harmless:
 * of the same job with the same params a profile has at most one that waits. A bucket whose node is away waits alone.
 */
export async function produce(producer: Producer, run: Run, context: ProduceContext): Promise<Produced> {
  const task = taskOf(producer, run)
  const reopened = await enqueueOpenOrders(task, context)
  if (run.enqueuedAll) return { enqueued: reopened, isLast: false }
  const { enqueued, isLast } = await produceBuckets(task, context)
  return { enqueued: reopened + enqueued, isLast }
}

/** The same for a run that another process produces too: the open orders are left to that process. */
export const helpProduce = (producer: Producer, run: Run, context: ProduceContext): Promise<Produced> =>
  produceBuckets(taskOf(producer, run), context)

type ProduceTask = {
  readonly producer: Producer
  readonly run: Run
  readonly params: unknown
  readonly jobParams: JobParams
}

function taskOf(producer: Producer, run: Run): ProduceTask {
  const parsed = producer.params.safeParse(run.params)
  if (parsed.success) return { producer, run, params: parsed.data, jobParams: producer.jobParams(parsed.data) }
  throw new Problem(
    `produce run ${run.id}: its params are not those of a ${producer.name}: ${z.prettifyError(parsed.error)}`,
  )
}

async function produceBuckets(task: ProduceTask, context: ProduceContext): Promise<Produced> {
  const { run } = task
  const { runs, signal, sleep, untilAll = false } = context
  for (let enqueued = 0; ; ) {
    await waitForBacklogSpace(task, context)
    const bucket = await runs.takeBucket(run.id)
    if (bucket) {
      const turn = await takeTurn(task, bucket, context)
      enqueued += turn.enqueued
      if (turn.isLast) return { enqueued, isLast: true }
    } else {
      if (!untilAll || !(await isUnproduced(runs, run))) return { enqueued, isLast: false }
      await sleep(TAKEABLE_EVERY_MS, signal)
    }
  }
}

async function isUnproduced(runs: Runs, { id }: Run): Promise<boolean> {
  const run = await runs.get(id)
  return run?.state === 'running' && !run.enqueuedAll
}

/** The bucket while its lease is held. `enqueuedTo`: its orders up to this profile are enqueued. */
type HeldBucket = { readonly bucket: RunBucket; afterId: string; enqueuedTo: string }

/** Enqueues the next page of a bucket, and gives the bucket back. */
async function takeTurn(task: ProduceTask, bucket: RunBucket, context: ProduceContext): Promise<Produced> {
  const { runs } = context
  const held: HeldBucket = { bucket, afterId: bucket.afterId, enqueuedTo: bucket.enqueuedTo }
  // A page may take longer than the lease lasts. A process that is frozen renews nothing; a renewal that fails comes again in time.
  const renew = () => void runs.renewBucket(bucket).catch(() => undefined)
  const renewals = setInterval(renew, PRODUCING_LEASE_RENEWED_MS)
  let restMs = 0
  try {
    return await producePages(task, held, context)
  } catch (error) {
    if (!isNodeOutage(error)) throw error
    restMs = REST_MS
    return { enqueued: 0, isLast: false }
  } finally {
    clearInterval(renewals)
    // Where this fails the lease expires soon. A bucket that was lost or has ended is not released.
    await runs.releaseBucket(bucket, { enqueuedTo: held.enqueuedTo, restMs }).catch(() => undefined)
  }
}

/** One page: then the run's other buckets have their turn. A bucket of everybody is enqueued to its end. */
async function producePages(task: ProduceTask, held: HeldBucket, context: ProduceContext): Promise<Produced> {
  const { producer, run, params } = task
  const { limits, runs } = context
  const { bucket } = held
  const profiles = context.profiles.ofBucket(bucket)
  let enqueued = await enqueueUncertainOrders(task, held, context)
  for (;;) {
    const page = await producer.page({ run, params, afterId: held.afterId, limit: limits.pageSize }, profiles)
    const orders = ordersOf(task, page.ids)
    if (orders.length > 0) {
      held.afterId = page.lastId
      if (!(await runs.recordOrders(bucket, { orders, afterId: page.lastId }))) return { enqueued, isLast: false }
      await context.queue.enqueue(producer.lane, producer.job, orders)
      held.enqueuedTo = page.lastId
      enqueued += orders.length
    }
    if (orders.length < limits.pageSize) return { enqueued, isLast: await runs.endBucket(bucket) }
    if (!isEverybody(bucket)) return { enqueued, isLast: false }
    await waitForBacklogSpace(task, context)
  }
}

/** The producer that had the bucket before may have died, or lost the queue, after it had recorded a page. */
async function enqueueUncertainOrders(task: ProduceTask, held: HeldBucket, context: ProduceContext): Promise<number> {
  const { bucket } = held
  if (BigInt(held.enqueuedTo) >= BigInt(held.afterId)) return 0
  const enqueued = await enqueuePages(task, context, (afterId, limit) =>
    context.runs.listUncertainOrders(bucket, afterId === '0' ? held.enqueuedTo : afterId, limit),
  )
  held.enqueuedTo = held.afterId
  return enqueued
}

/** The jobs of open orders may be lost, with a producer that died or with the queue. */
const enqueueOpenOrders = (task: ProduceTask, context: ProduceContext): Promise<number> =>
  enqueuePages(task, context, (afterId, limit) => context.runs.listOpenOrders(task.run.id, afterId, limit))

async function enqueuePages(
  task: ProduceTask,
  context: ProduceContext,
  list: (afterId: string, limit: number) => Promise<ProfilePage>,
): Promise<number> {
  const { producer } = task
  let enqueued = 0
  for (let afterId = '0'; ; ) {
    const { ids, lastId } = await list(afterId, context.limits.pageSize)
    if (ids.length === 0) return enqueued
    await waitForBacklogSpace(task, context)
    await context.queue.enqueue(producer.lane, producer.job, ordersOf(task, ids))
    enqueued += ids.length
    afterId = lastId
  }
}

async function waitForBacklogSpace({ producer, run }: ProduceTask, context: ProduceContext): Promise<void> {
  const { limits, queue, runs, sleep, signal } = context
  for (;;) {
    signal.throwIfAborted()
    const { waiting, delayed } = await queue.backlog(producer.lane)
    if (waiting + delayed <= limits.backlogMax) return
    await runs.heartbeat(run.id)
    await sleep(limits.pauseMs, signal)
  }
}

const ordersOf = ({ producer, run, jobParams }: ProduceTask, profileIds: readonly string[]): Order[] =>
  profileIds.map((profileId) => ({ runId: run.id, profileId, job: producer.job.name, params: jobParams }))
