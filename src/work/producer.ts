import { z } from 'zod'
import { Problem } from '../errors.ts'
import type { Lane } from '../fleet/budget.ts'
import type { JobParams, Order } from '../transfer/order.ts'
import type { ProfilePage } from '../transfer/planned-profile.ts'
import type { Profiles } from '../warehouse/profiles/stored-profiles.ts'
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
  page(due: DueQuery<z.output<P>>, profiles: Profiles): Promise<ProfilePage>
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

type ProduceContext = {
  readonly profiles: Profiles
  readonly runs: Runs
  readonly queue: OrderQueue
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
  readonly limits: ProduceLimits
}

type ProduceLimits = {
  /** How many profiles one page holds: bounds the memory of the producer. */
  readonly pageSize: number
  /** The producer pauses while more jobs than this wait for their turn or their next attempt: bounds the memory of the queue. */
  readonly backlogMax: number
  readonly pauseMs: number
}

/**
 * Enqueues one job for each due profile, page by page, and returns how many.
 *
 * Each page is recorded in the warehouse before it is enqueued. A process that takes the run over, or finds the queue
 * emptied, first enqueues the orders that are still open and then continues after the last recorded page. Enqueuing a page
 * twice is harmless: of the same job with the same params a profile has at most one that waits.
 */
export async function produce(producer: Producer, run: Run, context: ProduceContext): Promise<number> {
  const { limits, runs, profiles } = context
  const params = parseRunParams(producer, run)
  const task: ProduceTask = { producer, run, jobParams: producer.jobParams(params) }
  let enqueued = await enqueueOpenOrders(task, context)
  if (run.enqueuedAll) return enqueued
  for (let afterId = run.afterId; ; ) {
    await waitForBacklogSpace(task, context)
    const page = await producer.page({ run, params, afterId, limit: limits.pageSize }, profiles)
    const orders = ordersOf(task, page.ids)
    afterId = page.lastId
    await runs.recordOrders(run.id, { orders, afterId })
    await context.queue.enqueue(producer.lane, producer.job, orders)
    enqueued += orders.length
    if (page.ids.length >= limits.pageSize) continue
    await runs.markAllEnqueued(run.id)
    return enqueued
  }
}

type ProduceTask = { readonly producer: Producer; readonly run: Run; readonly jobParams: JobParams }

function parseRunParams({ name, params }: Producer, run: Run): unknown {
  const parsed = params.safeParse(run.params)
  if (parsed.success) return parsed.data
  throw new Problem(`produce run ${run.id}: its params are not those of a ${name}: ${z.prettifyError(parsed.error)}`)
}

/** The jobs of open orders may be lost, with a producer that died or with the queue. */
async function enqueueOpenOrders(task: ProduceTask, context: ProduceContext): Promise<number> {
  const { producer, run } = task
  let enqueued = 0
  for (let afterId = '0'; ; ) {
    const { ids, lastId } = await context.runs.listOpenOrders(run.id, afterId, context.limits.pageSize)
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
