import { z } from 'zod'
import { touchParts } from '../../src/ledger/digesting.ts'
import {
  isHeldByNewer,
  isInside,
  judgeReading,
  type LedgerState,
  mustHaveHeld,
  reachesInto,
  type settleReading,
} from '../../src/ledger/judge.ts'
import { dueWindows } from '../../src/ledger/planner.ts'
import { type Span, subtract, union } from '../../src/time/spans.ts'
import type { PushedParcels } from '../../src/transfer/parcel.ts'
import type { WindowReading } from '../../src/transfer/reading.ts'
import type { PulledStream } from '../../src/transfer/stream.ts'
import type { StoreResult } from '../../src/warehouse/readings/store-group.ts'
import type { JobContext } from '../../src/work/job.ts'
import { dataLogs } from '../support/stream-by-name.ts'
import { createOutbox, type OutboxOfOne } from './outbox.ts'
import type { Ask, Chance } from './stage.ts'
import { BEGIN, HISTORY, SETTLE, UNDER_WAY_MAX } from './upstream.ts'

type SimulatedRecord = Span & { readonly name: number; readonly value: number }
type StoredRecord = SimulatedRecord & { readonly readAtMs: number; readonly gone: boolean }
type StoredReading = Span & {
  readonly sentAtMs: number
  readonly reachesBack: boolean
  readonly complete: boolean
  readonly values: Map<number, number>
}

export type WarehouseProfile = OutboxOfOne & {
  readonly externalId: string
  state: 'new' | 'active' | 'gone'
  registeringUntil: number
  ledger: LedgerState & { readonly covered: readonly Span[] }
  refused: Array<{ window: Span; untilMs: number }>
  readonly records: Map<number, StoredRecord>
  /** Readings that were admitted since the last check, and the value that the newest reading gave for each record. */
  readonly newReadings: StoredReading[]
  readonly newestValues: Map<number, { readonly sentAtMs: number; readonly values: readonly (number | undefined)[] }>
}

const days: PulledStream = {
  name: 'days',
  kind: 'windowed',
  operation: { name: 'daysOf', method: 'GET', path: '/api/v1/days/{externalId}', caller: 'account' },
  schema: z.unknown(),
  table: 'days',
  windowMs: 20,
  settleMs: SETTLE,
  touchedBy: { 'data-logs': { beforeMs: 2, afterMs: 3 } },
  columns: [],
}

export type SimulatedWarehouse = ReturnType<typeof createWarehouse>

/** When what was pushed is read again. */
const INTERVALS = [2, 4, 8]

/** `settle`: the real judge, or one with a planted bug. */
type Circumstances = { chance: Chance; now: () => number; settle: typeof settleReading }

/**
 * A warehouse as small as it can be, with the real planner and judge in it: what the statements of `src/warehouse` do in
 * SQL is said here in a few lines each, one function a transaction. The suite of the warehouse tries the SQL itself.
 */
export function createWarehouse({ chance, now, settle }: Circumstances) {
  const people = new Map<string, WarehouseProfile>()

  function add(profileId: string, externalId: string, state: WarehouseProfile['state']): void {
    const ledger = { generation: 0, digesting: [], recent: [], covered: [] }
    people.set(profileId, {
      externalId,
      state,
      registeringUntil: 0,
      ledger,
      refused: [],
      records: new Map(),
      items: new Map(),
      parcels: new Map(),
      newReadings: [],
      newestValues: new Map(),
    })
  }

  const ledgerOf = (ask: Ask): JobContext['ledger'] => ({
    plan: ({ profileId, nowMs, range, again, streams }) =>
      ask('plan', () => {
        const here = people.get(profileId)
        if (!here) return undefined
        const { externalId, state, ledger, refused, parcels } = here
        const young = ledger.digesting.filter(({ touchedAtMs }) => touchedAtMs + (INTERVALS[0] ?? 0) > nowMs)
        const due = dueWindows({
          wanted: range ?? { startMs: BEGIN - HISTORY, endMs: nowMs + 2 },
          covered: again ? [] : ledger.covered,
          blocked: [
            ...refused.flatMap(({ window, untilMs }) => (untilMs > now() ? [window] : [])),
            ...(chance(3) > 0 ? union(young) : []),
          ],
          sizeMs: days.windowMs,
          windowsMax: 10,
        })
        return {
          profile: { profileId, externalId, state, waiting: parcels.size > 0 ? [dataLogs] : [] },
          due:
            streams?.length === 0 ? [] : due.map((window) => ({ stream: days, window, generation: ledger.generation })),
        }
      }),
    recordRefusal: ({ profileId, window }) =>
      ask('recordRefusal', () => {
        people.get(profileId)?.refused.push({ window, untilMs: now() + 10 })
      }),
  })

  function store(request: WindowReading): StoreResult {
    const here = people.get(request.profileId)
    const records: SimulatedRecord[] = request.records.map(({ raw }) => JSON.parse(raw))
    const counts = { read: records.length, written: 0, invalid: 0 }
    const { window, sentAtMs } = request
    const crossing = records.filter((one) => !isInside(one, window))
    const edges = {
      crossingHashes: crossing.map(({ name }) => name),
      reachesBack: crossing.some((one) => reachesInto(one, window)),
    }
    const verdict = judgeReading({ ...request, ...edges }, here?.ledger, now())
    if (!here || verdict.kind !== 'admitted')
      return { outcome: verdict.kind === 'too-old' ? 'too-old' : 'erased', ...counts }

    let firstChangeMs: number | undefined
    const change = (record: StoredRecord) => {
      here.records.set(record.name, record)
      firstChangeMs = Math.min(firstChangeMs ?? record.endMs, record.endMs)
    }
    for (const one of records) {
      const known = here.records.get(one.name)
      if (isHeldByNewer({ ...one, keyHash: one.name }, verdict.newer) || (known && known.readAtMs >= sentAtMs)) continue
      // An unchanged record is not touched, and keeps the instant of the reading that wrote it.
      if (known?.value === one.value && !known.gone) continue
      change({ ...one, readAtMs: sentAtMs, gone: false })
    }
    const held = new Set([...records.map(({ name }) => name), ...verdict.newer.flatMap((read) => read.crossingHashes)])
    for (const [name, known] of verdict.complete ? here.records : []) {
      if (known.gone || known.readAtMs >= sentAtMs || held.has(name)) continue
      if (mustHaveHeld({ ...window, ...edges }, known)) change({ ...known, gone: true, readAtMs: sentAtMs })
    }
    const { ledger } = here
    const rule = { settleMs: SETTLE, intervalsMs: INTERVALS }
    const settled = settle(request, ledger, { mayCover: verdict.mayCover, firstChangeMs, rule })
    const covered = subtract(union([...ledger.covered, ...settled.covers]), settled.uncovers)
    here.ledger = { ...ledger, recent: verdict.recent, covered, digesting: settled.digesting }
    here.refused = here.refused.filter(({ window: no }) => no.endMs <= window.startMs || window.endMs <= no.startMs)
    const values = new Map(records.map(({ name, value }) => [name, value]))
    here.newReadings.push({ ...window, sentAtMs, ...edges, complete: verdict.complete, values })
    return { outcome: 'stored', ...counts }
  }

  const profilesOf = (ask: Ask): JobContext['profiles'] => ({
    setState: (profileId, state) =>
      ask(`set ${state}`, () => {
        const here = people.get(profileId)
        if (!here || (here.state === 'gone' && state === 'active')) return false
        here.state = state
        if (state === 'active') here.registeringUntil = 0
        return true
      }),
    beginRegistration: (profileId, leaseMs) =>
      ask('begin registration', () => {
        const here = people.get(profileId)
        if (!here || here.state === 'gone') return false
        // Minutes there, moments here.
        here.registeringUntil = now() + Math.min(leaseMs, UNDER_WAY_MAX)
        return true
      }),
    endRegistration: (profileId) =>
      ask('end registration', () => {
        const here = people.get(profileId)
        if (here) here.registeringUntil = 0
      }),
    registrationLeftMs: (profileId) =>
      ask('look for registration', () => Math.max(0, (people.get(profileId)?.registeringUntil ?? 0) - now())),
    erase: (profileId) =>
      ask('erase', () => {
        people.delete(profileId)
        return []
      }),
    add: () => ask('add', () => ({ added: 0, known: 0, erased: 0 })),
  })

  function touch({ profileId, parcels }: PushedParcels): void {
    const here = people.get(profileId)
    if (!here) return
    const spans = parcels.map(({ startAtMs, endAtMs }) => ({ startMs: startAtMs - 2, endMs: endAtMs + 3 }))
    const { ledger } = here
    here.ledger = {
      ...ledger,
      generation: ledger.generation + 1,
      covered: subtract(ledger.covered, union(spans)),
      digesting: touchParts(ledger.digesting, spans, now()),
    }
  }

  return {
    people,
    add,
    parts: (ask: Ask): Pick<JobContext, 'ledger' | 'writer' | 'profiles' | 'outbox'> => ({
      ledger: ledgerOf(ask),
      writer: { store: (request) => ask('store', () => store(request)) },
      profiles: profilesOf(ask),
      outbox: createOutbox({ ask, of: (profileId) => people.get(profileId), touch }),
    }),
  }
}
