import { MINUTE, SECOND } from '../../src/base/time/units.ts'
import {
  type EndedJob,
  JOB_FORM,
  type OrderKey,
  paramsText,
  parseParamsText,
} from '../../src/pipeline/transfer/order.ts'
import type { OrderPage } from '../../src/pipeline/warehouse/runs/open-orders.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Run, RunParams } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import type { ModelData, ModelProfile } from './model-state.ts'
import type { Situations } from './situations.ts'

type ModelOrder = { readonly job: string; readonly scope: string; readonly orderedMs: number }
export type ModelProduction = {
  afterId: string
  enqueuedTo: string
  lease: string | null
  heldUntilMs: number | null
}
type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
export type ModelRun = Mutable<Run> & {
  touchedMs: number
  /** How far its producers came; undefined once the run was enqueued to its end. */
  production: ModelProduction | undefined
  /** By profile: a profile has one order of a run. */
  readonly orders: Map<string, ModelOrder>
}

type Circumstances = {
  readonly data: ModelData
  readonly now: () => number
  readonly saw: Situations['saw']
  readonly drawRun: () => string
  readonly drawLease: () => string
}

const LEASE_MS = 30 * SECOND
const noFigures = { enqueued: 0, done: 0, failed: 0, refused: 0, requests: 0, unchanged: 0 }
const noRows = { rowsRead: 0, rowsWritten: 0, itemsPushed: 0, itemsPushedElsewhere: 0 }

export function createModelRuns({ data, now, saw, drawRun, drawLease }: Circumstances) {
  const newProduction = (): ModelProduction => ({
    ...{ afterId: '0', enqueuedTo: '0' },
    ...{ lease: null, heldUntilMs: null },
  })

  function create(kind: string, params: RunParams): Run {
    const run: ModelRun = {
      ...{ id: drawRun(), kind, params, form: JOB_FORM, state: 'running' },
      ...{ startedAt: new Date(now()), endedAt: null, touchedMs: now() },
      ...noFigures,
      ...noRows,
      ...{ enqueuedAll: false, afterId: '0', production: newProduction(), orders: new Map() },
    }
    data.runs.set(run.id, run)
    return shown(run)
  }

  /** The run, if its lease is still this producer's. */
  function heldOf({ runId, lease }: Production): { run: ModelRun; production: ModelProduction } | undefined {
    const run = data.runs.get(runId)
    return run?.production && run.production.lease === lease ? { run, production: run.production } : undefined
  }

  const rooms = {
    create,
    claimSlot(schedule: string, slotAt: Date, params: RunParams = {}): Run | undefined {
      const slot = `${schedule} ${slotAt.toISOString()}`
      if (data.slots.has(slot)) return undefined
      data.slots.add(slot)
      return create(schedule, { ...params, slotAt: slotAt.toISOString().replace('.000Z', 'Z') })
    },
    get: (runId: string): Run | undefined => {
      const run = data.runs.get(runId)
      return run && shown(run)
    },
    takeProduction(runId: string): Production | undefined {
      const run = data.runs.get(runId)
      const production = run?.production
      if (!production || run.state !== 'running' || run.enqueuedAll) return undefined
      if (production.heldUntilMs !== null && production.heldUntilMs >= now()) return undefined
      Object.assign(production, { lease: drawLease(), heldUntilMs: now() + LEASE_MS })
      const { afterId, enqueuedTo } = production
      return { runId, afterId, enqueuedTo, lease: production.lease ?? '' }
    },
    renewProduction(taken: Production): void {
      const held = heldOf(taken)
      if (!held) return
      held.production.heldUntilMs = now() + LEASE_MS
      held.run.touchedMs = now()
    },
    releaseProduction(taken: Production, enqueuedTo: string): void {
      const production = heldOf(taken)?.production
      if (production) Object.assign(production, { enqueuedTo, lease: null, heldUntilMs: null })
    },
    recordOrders(taken: Production, page: { orders: readonly OrderKey[]; afterId: string }): boolean {
      const held = heldOf(taken)
      if (!held) saw('a lease withdrawn while its producer works')
      if (!held) return false
      const { run, production } = held
      Object.assign(production, {
        enqueuedTo: production.afterId,
        afterId: page.afterId,
        heldUntilMs: now() + LEASE_MS,
      })
      for (const { profileId, job, params } of page.orders) {
        if (run.orders.has(profileId)) continue
        run.orders.set(profileId, { job, scope: paramsText(params), orderedMs: now() })
        run.enqueued += 1
      }
      Object.assign(run, { afterId: page.afterId, touchedMs: now() })
      return true
    },
    endProduction(taken: Production): boolean {
      const run = heldOf(taken)?.run
      if (!run) return false
      Object.assign(run, { production: undefined, enqueuedAll: true, touchedMs: now() })
      endWhenAllEnded(run)
      return true
    },
    listUncertainOrders: ({ runId, afterId: upTo }: Production, afterId: string, limit: number): OrderPage =>
      pageOf(data.runs.get(runId), { afterId, limit, upTo }),
    listOpenOrders: (runId: string, afterId: string, limit: number): OrderPage =>
      pageOf(data.runs.get(runId), { afterId, limit }),
    heartbeat(runId: string): void {
      const run = data.runs.get(runId)
      if (run) run.touchedMs = now()
    },
    end(runId: string, state: 'done' | 'failed' | 'stopped'): void {
      const run = data.runs.get(runId)
      if (!run) return
      if (run.state === 'running') Object.assign(run, { state, endedAt: new Date(now()) })
      if (run.orders.size > 0) saw('a run stopped while its orders are open')
      run.production = undefined
      run.orders.clear()
    },
  }

  function endWhenAllEnded(run: ModelRun): void {
    if (run.state !== 'running' || !run.enqueuedAll || run.done + run.failed < run.enqueued) return
    Object.assign(run, { state: 'done', endedAt: new Date(now()) })
  }

  /** An order that came after the job had begun is left to the job that follows. */
  function countEnded(
    { profileId, runId, job, params, begunAtMs, counts }: EndedJob,
    outcome: 'done' | 'failed',
  ): void {
    for (const run of data.runs.values()) {
      const order = run.orders.get(profileId)
      const isLike = order?.job === job && order.scope === paramsText(params)
      const isEnded = isLike && (run.id === runId || order.orderedMs <= begunAtMs)
      if (isEnded && run.id !== runId) saw('an order of one run ended by a job of another')
      if (isEnded) {
        run.orders.delete(profileId)
        run[outcome] += 1
      }
      if (run.id === runId)
        for (const figure of ['refused', 'requests', 'unchanged', 'rowsRead', 'rowsWritten'] as const)
          run[figure] += counts[figure]
      if (!isEnded && run.id !== runId) continue
      run.touchedMs = now()
      endWhenAllEnded(run)
    }
  }

  return {
    ...rooms,
    countEnded,
    deleteOrders(profileId: string): void {
      for (const run of data.runs.values()) {
        if (!run.orders.delete(profileId)) continue
        run.done += 1
        endWhenAllEnded(run)
      }
    },
    countPushedItems(profileId: string, runId: string | undefined, items: number): void {
      for (const run of data.runs.values()) {
        const isOwn = run.id === runId
        if (!isOwn && !run.orders.has(profileId)) continue
        run[isOwn ? 'itemsPushed' : 'itemsPushedElsewhere'] += items
        run.touchedMs = now()
      }
    },
  }
}

const shown = ({ touchedMs, production, orders, ...run }: ModelRun): Run => ({ ...run })

type PageBounds = { readonly afterId: string; readonly limit: number; readonly upTo?: string }

function pageOf(run: ModelRun | undefined, { afterId, limit, upTo }: PageBounds): OrderPage {
  const isWithin = (id: string) => Number(id) > Number(afterId) && (upTo === undefined || Number(id) <= Number(upTo))
  const orders = [...(run?.orders ?? [])]
    .filter(([id]) => isWithin(id))
    .sort(([a], [b]) => Number(a) - Number(b))
    .slice(0, limit)
    .map(([profileId, { job, scope }]) => ({ profileId, job, params: parseParamsText(scope) }))
  return { orders, lastId: orders.at(-1)?.profileId ?? afterId }
}

/** When the sweep looks at a profile again after a job. */
export function nextLookMs(here: ModelProfile, ended: Ended): number {
  const { begunAtMs, nowMs, firstReadingMs, streams } = ended
  const madeDue = here.dueMs > begunAtMs + 1 && here.dueMs < nowMs + LOCK_TIMEOUT_MS ? [here.dueMs] : []
  const refused = here.refusals.flatMap(({ nextTryMs }) => (nextTryMs > nowMs ? [nextTryMs] : []))
  const unread = [...here.ledger].flatMap(([stream, row]) => {
    if (row.unread.length === 0 && row.rereads.length === 0) return []
    if (row.readAgainAtMs > (row.readAtMs ?? Number.NEGATIVE_INFINITY)) return [row.readAgainAtMs]
    const isWanted = row.unread.some(({ endMs }) => endMs > here.wantedFromMs + SECOND)
    const isRefused = here.refusals.some((one) => one.stream === stream && one.nextTryMs > nowMs)
    return streams.includes(stream) && isWanted && !isRefused ? [nowMs + Math.max(firstReadingMs, SECOND)] : []
  })
  const added = [...here.parcels.values()].map(({ addedMs }) => addedMs)
  const waits = added.length === 0 ? [] : [Math.max(...added) > begunAtMs - MINUTE ? nowMs : nowMs + 5 * MINUTE]
  return Math.min(...madeDue, nowMs + 26 * 60 * MINUTE, ...refused, ...unread, ...waits)
}

const LOCK_TIMEOUT_MS = 18 * SECOND

type Ended = {
  readonly begunAtMs: number
  readonly nowMs: number
  readonly firstReadingMs: number
  /** The names of the pulled streams. */
  readonly streams: readonly string[]
}
