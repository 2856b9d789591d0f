import { z } from 'zod'
import { Problem } from '../../base/errors.ts'
import { SECOND } from '../../base/time/units.ts'
import type { Lane } from '../fleet/budget.ts'
import type { JobParams, Order } from '../transfer/order.ts'
import type { ProfilePage } from '../transfer/planned-profile.ts'
import { PartialOutage } from '../warehouse/postgres/sql-errors.ts'
import type { ProfileLists } from '../warehouse/profiles/profile-lists.ts'
import type { OrderPage } from '../warehouse/runs/open-orders.ts'
import { PRODUCING_LEASE_RENEWED_MS, type Production } from '../warehouse/runs/production.ts'
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
  readonly profiles: ProfileLists
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

/** The pause of a run whose profiles cannot all be listed. */
const OUTAGE_PAUSE_MS = 5 * SECOND
const TAKEABLE_EVERY_MS = SECOND

/**
 * Enqueues one job for each due profile of a run, page by page, unless another process does.
 *
 * A process leases the run. Each page is recorded in the warehouse before it is enqueued. A process that takes a run over first
 * enqueues the open orders of its last page; one that produces a run again, as after the queue was emptied, first enqueues all
 * open orders. Enqueuing a page twice is harmless: of the same job with the same params a profile has at most one that waits.
 */
export async function produce(producer: Producer, run: Run, context: ProduceContext): Promise<Produced> {
  const task = taskOf(producer, run)
  const reopened = await enqueueOpenOrders(task, context)
  if (run.enqueuedAll) return { enqueued: reopened, isLast: false }
  const { enqueued, isLast } = await produceAll(task, context)
  return { enqueued: reopened + enqueued, isLast }
}

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

async function produceAll(task: ProduceTask, context: ProduceContext): Promise<Produced> {
  const { run } = task
  const { runs, signal, sleep, untilAll = false } = context
  for (let enqueued = 0; ; ) {
    await waitForBacklogSpace(task, context)
    const production = await runs.takeProduction(run.id)
    if (production) {
      const turn = await produceLeased(task, production, context)
      enqueued += turn.enqueued
      if (turn.isLast || !turn.isPaused) return { enqueued, isLast: turn.isLast }
      await sleep(OUTAGE_PAUSE_MS, signal)
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

/** The run while its lease is held. `enqueuedTo`: its orders up to this profile are enqueued. */
type HeldRun = { readonly production: Production; afterId: string; enqueuedTo: string; enqueued: number }

async function produceLeased(
  task: ProduceTask,
  production: Production,
  context: ProduceContext,
): Promise<Produced & { readonly isPaused: boolean }> {
  const { runs } = context
  const { afterId, enqueuedTo } = production
  const held: HeldRun = { production, afterId, enqueuedTo, enqueued: 0 }
  // A page may take longer than the lease lasts. A process that is frozen renews nothing; a renewal that fails comes again in time.
  const renew = () => void runs.renewProduction(production).catch(() => undefined)
  const renewals = setInterval(renew, PRODUCING_LEASE_RENEWED_MS)
  try {
    const isLast = await producePages(task, held, context)
    return { enqueued: held.enqueued, isLast, isPaused: false }
  } catch (error) {
    if (!(error instanceof PartialOutage)) throw error
    return { enqueued: held.enqueued, isLast: false, isPaused: true }
  } finally {
    clearInterval(renewals)
    // Where this fails the lease expires soon. A run that was lost or has ended is not released.
    await runs.releaseProduction(production, held.enqueuedTo).catch(() => undefined)
  }
}

/** True: all of the run is enqueued. */
async function producePages(task: ProduceTask, held: HeldRun, context: ProduceContext): Promise<boolean> {
  const { producer, run, params } = task
  const { limits, profiles, runs } = context
  const { production } = held
  await enqueueUncertainOrders(task, held, context)
  const pageAfter = (afterId: string) => producer.page({ run, params, afterId, limit: limits.pageSize }, profiles)
  for (let page = await pageAfter(held.afterId); ; ) {
    const orders = ordersOf(task, page.ids)
    const isLast = orders.length < limits.pageSize
    // The database looks the next page up while the queue takes this one.
    const next = isLast ? undefined : pageAfter(page.lastId)
    next?.catch(() => undefined)
    if (orders.length > 0) {
      held.afterId = page.lastId
      if (!(await runs.recordOrders(production, { orders, afterId: page.lastId }))) return false
      await context.queue.enqueue(producer.lane, producer.job, orders)
      held.enqueuedTo = page.lastId
      held.enqueued += orders.length
    }
    if (next === undefined) return runs.endProduction(production)
    await waitForBacklogSpace(task, context)
    page = await next
  }
}

/** The producer that had the run before may have died, or lost the queue, after it had recorded a page. */
async function enqueueUncertainOrders(task: ProduceTask, held: HeldRun, context: ProduceContext): Promise<void> {
  const { production } = held
  if (BigInt(held.enqueuedTo) >= BigInt(held.afterId)) return
  held.enqueued += await enqueuePages(task, context, (afterId, limit) =>
    context.runs.listUncertainOrders(production, afterId === '0' ? held.enqueuedTo : afterId, limit),
  )
  held.enqueuedTo = held.afterId
}

/** The jobs of open orders may be lost, with a producer that died or with the queue. */
const enqueueOpenOrders = (task: ProduceTask, context: ProduceContext): Promise<number> =>
  enqueuePages(task, context, (afterId, limit) => context.runs.listOpenOrders(task.run.id, afterId, limit))

async function enqueuePages(
  task: ProduceTask,
  context: ProduceContext,
  list: (afterId: string, limit: number) => Promise<OrderPage>,
): Promise<number> {
  const { producer, run } = task
  let enqueued = 0
  for (let afterId = '0'; ; ) {
    const { orders, lastId } = await list(afterId, context.limits.pageSize)
    if (orders.length === 0) return enqueued
    await waitForBacklogSpace(task, context)
    const ordered = orders.map((order) => ({ ...order, runId: run.id }))
    await context.queue.enqueue(producer.lane, producer.job, ordered)
    enqueued += orders.length
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
