import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { NotThere, Rejected } from '../../src/base/errors.ts'
import { SECOND } from '../../src/base/time/units.ts'
import { type EndedJob, type JobCounts, noCounts, type Order, paramsText } from '../../src/pipeline/transfer/order.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Run, Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { type ProduceContext, type Producer, produce } from '../../src/pipeline/work/producer.ts'
import type { Ask } from './stage.ts'

const producers: readonly Producer[] = [nightly, sweep, sync, backfill]

/** The queue: a hint. It may be emptied at any moment, and hands a job out again whose worker died. */
export function createQueue() {
  const jobs: Order[] = []
  const isLike = (one: Order, other: Order) =>
    one.profileId === other.profileId && one.job === other.job && paramsText(one.params) === paramsText(other.params)
  return {
    jobs,
    add(order: Order): void {
      if (!jobs.some((waiting) => isLike(waiting, order))) jobs.push(order)
    },
    forget(profileId: string): number {
      const left = jobs.filter((one) => one.profileId !== profileId)
      return jobs.splice(0, jobs.length, ...left).length - left.length
    },
  }
}

export type SimulatedQueue = ReturnType<typeof createQueue>
type Lists = ProduceContext['profiles']

type Producing = {
  readonly ask: Ask
  readonly runs: Runs
  readonly lists: Lists
  readonly queue: SimulatedQueue
  readonly signal: AbortSignal
  readonly passTime: (ms: number) => void
  readonly onTaken: (production: Production) => void
}

/** Enqueues a run as a scheduler does. Its leases are renewed by an act of the world, not by a timer. */
export async function produceInWorld(run: Run, producing: Producing): Promise<void> {
  const { ask, runs, lists, queue, signal, passTime, onTaken } = producing
  const producer = producers.find(({ name }) => name === run.kind)
  if (!producer) throw new Error(`nobody produces a ${run.kind}`)
  const takeProduction: Runs['takeProduction'] = async (runId) => {
    const production = await runs.takeProduction(runId)
    if (production) onTaken(production)
    return production
  }
  const asked: Runs = new Proxy(runs, {
    get: (target, name) =>
      name === 'takeProduction'
        ? takeProduction
        : name === 'renewProduction'
          ? async () => undefined
          : Reflect.get(target, name),
  })
  await produce(producer, run, {
    profiles: lists,
    runs: asked,
    queue: {
      enqueue: (_lane, _job, orders) =>
        ask('queue.enqueue', () => {
          for (const order of orders) queue.add(order)
        }),
      backlog: () => ask('queue.backlog', () => ({ waiting: queue.jobs.length, active: 0, delayed: 0 })),
    },
    sleep: (ms) => ask('pause', () => passTime(Math.max(ms, 15 * SECOND))),
    signal,
    limits: { pageSize: 1, backlogMax: 100, pauseMs: SECOND },
    untilAll: true,
  })
}

type Records = {
  recordFinished(ended: EndedJob): Promise<void>
  recordFailed(ended: EndedJob, failure: { reason: string; hint: string | undefined }): Promise<void>
}

type CarriedOut = {
  readonly order: Order
  readonly begunAtMs: number
  readonly lastAttempt: boolean
  readonly ledger: Records
  readonly run: () => Promise<JobCounts>
}

/** One attempt at a job of the queue, and what becomes of its order. False: the queue hands the job out again. */
export async function carryOutOrder({ order, begunAtMs, lastAttempt, ledger, run }: CarriedOut): Promise<boolean> {
  const ended = (counts: JobCounts): EndedJob => ({ ...order, begunAtMs, counts })
  try {
    const counts = await run()
    await ledger.recordFinished(ended(counts))
    return true
  } catch (error) {
    if (!lastAttempt && !(error instanceof Rejected) && !(error instanceof NotThere)) throw error
    const reason = error instanceof Error ? error.message : 'unknown'
    await ledger.recordFailed(ended(noCounts), { reason, hint: undefined })
    return true
  }
}
