import { sync } from '../../jobs/sync.ts'
import type { Order } from '../../src/pipeline/transfer/order.ts'
import type { ProfileLists } from '../../src/pipeline/warehouse/profiles/profile-lists.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Run, Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { type Backlog, type ProduceContext, produce } from '../../src/pipeline/work/producer.ts'
import { partOf } from './job-context.ts'

export const producedRun = { id: '9', kind: 'sync', params: {}, enqueuedAll: false, startedAt: new Date(0) } as Run

export const productionOf = (more: Partial<Production> = {}): Production => ({
  runId: '9',
  lease: 'mine',
  afterId: '0',
  enqueuedTo: '0',
  ...more,
})
export const idleLane: Backlog = { waiting: 0, active: 0, delayed: 0 }

/** More than any test here takes. */
const STEPS_MAX = 100

type ProduceStage = {
  /** The profiles that are due, in order of id. */
  due?: readonly string[]
  productions?: readonly Production[]
  open?: readonly string[]
  uncertain?: readonly string[]
  backlogs?: readonly Backlog[]
  /** Methods that fail, or answer otherwise. */
  runs?: Partial<Runs>
  enqueue?: (orders: readonly Order[]) => Promise<void>
  context?: Partial<ProduceContext>
}

const pageOf = (ids: readonly string[], afterId: string, limit: number) => {
  const page = ids.filter((id) => Number(id) > Number(afterId)).slice(0, limit)
  return { ids: page, lastId: page.at(-1) ?? afterId }
}

const openPageOf = (ids: readonly string[], afterId: string, limit: number) => {
  const page = pageOf(ids, afterId, limit)
  const orders = page.ids.map((profileId) => ({ profileId, job: 'sync-profile', params: { of: 'the order' } }))
  return { orders, lastId: page.lastId }
}

/** This process enqueues a run, two profiles a page. Every act is noted, in order. */
function produceStage({
  due = [],
  productions = [productionOf()],
  open = [],
  uncertain = [],
  backlogs = [],
  ...given
}: ProduceStage) {
  const acts: string[] = []
  /** By which signal each pause ends early. */
  const slept: AbortSignal[] = []
  let steps = 0
  /** Ends a producer that goes round and round. */
  const step = <T>(value: T) => {
    steps += 1
    if (steps > STEPS_MAX) throw new Error('the producer does not end')
    return value
  }
  const free = [...productions]
  const left = [...backlogs]
  const words = (orders: readonly Pick<Order, 'profileId'>[]) => orders.map(({ profileId }) => profileId).join(' ')
  const context: ProduceContext = {
    profiles: partOf<ProfileLists>({ list: async (afterId, limit) => step(pageOf(due, afterId, limit)) }),
    runs: partOf<Runs>({
      takeProduction: async () => step(free.shift()),
      renewProduction: async () => void acts.push('renewed'),
      releaseProduction: async (_, enqueuedTo) => void acts.push(`released at ${enqueuedTo}`),
      async recordOrders(_, { orders, afterId }) {
        acts.push(`recorded ${words(orders as Order[])} to ${afterId}`)
        return true
      },
      async endProduction() {
        acts.push('ended')
        return true
      },
      listUncertainOrders: async (_, afterId, limit) => step(openPageOf(uncertain, afterId, limit)),
      listOpenOrders: async (_, afterId, limit) => step(openPageOf(open, afterId, limit)),
      heartbeat: async () => void acts.push('alive'),
      ...given.runs,
    }),
    queue: {
      backlog: async () => step(left.shift() ?? idleLane),
      async enqueue(lane, _, orders) {
        await given.enqueue?.(orders)
        acts.push(`enqueued ${words(orders)} in ${lane}`)
      },
    },
    async sleep(ms, signal) {
      acts.push(`waited ${ms}`)
      slept.push(signal)
    },
    signal: new AbortController().signal,
    limits: { pageSize: 2, backlogMax: 10, pauseMs: 50 },
    ...given.context,
  }
  return { acts, slept, context }
}

/** Produces a run on such a stage. */
export async function produced(given: ProduceStage, of: Run = producedRun) {
  const { acts, slept, context } = produceStage(given)
  return { ended: await produce(sync, of, context).catch((error: unknown) => error), acts, slept }
}
