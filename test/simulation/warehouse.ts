import { z } from 'zod'
import { normalize, type Span, subtract } from '../../src/coverage.ts'
import type { JobContext } from '../../src/job.ts'
import {
  dueWindows,
  isInside,
  isTheirs,
  judge,
  type LedgerState,
  mustHaveHeld,
  reachesInto,
} from '../../src/planner.ts'
import type { PulledStream } from '../../src/stream.ts'
import type { Stored, StoreRequest } from '../../src/warehouse/commit.ts'
import type { Push } from '../../src/warehouse/outbox.ts'
import { createOutbox, type OutboxOfOne } from './outbox.ts'
import type { Ask, Chance } from './stage.ts'
import { BEGIN, HISTORY, SETTLE, UNDER_WAY_MAX } from './upstream.ts'

type Told = Span & { readonly name: number; readonly value: number }
type Kept = Told & { readonly readAtMs: number; readonly gone: boolean }
type LetIn = Span & {
  readonly sentAtMs: number
  readonly reachesBack: boolean
  readonly complete: boolean
  readonly told: Map<number, number>
}

export type Here = OutboxOfOne & {
  readonly externalId: string
  state: 'new' | 'active' | 'gone'
  registeringUntil: number
  ledger: LedgerState & { readonly covered: readonly Span[] }
  refused: Array<{ window: Span; untilMs: number }>
  readonly records: Map<number, Kept>
  /** Readings that were let in since the invariants last looked, and what the newest of them said of each record. */
  readonly letIn: LetIn[]
  readonly said: Map<number, { readonly sentAtMs: number; readonly values: readonly (number | undefined)[] }>
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

/**
 * A warehouse as small as it can be, with the real planner and judge in it: what the statements of `src/warehouse` do in
 * SQL is said here in a few lines each, one function a transaction. The suite of the warehouse tries the SQL itself.
 */
export function createWarehouse({ chance, now, digestMs }: { chance: Chance; now: () => number; digestMs: number }) {
  const people = new Map<string, Here>()

  function add(profileId: string, externalId: string, state: Here['state']): void {
    const ledger = { generation: 0, digesting: [], digestedAtMs: Number.NEGATIVE_INFINITY, recent: [], covered: [] }
    people.set(profileId, {
      externalId,
      state,
      registeringUntil: 0,
      ledger,
      refused: [],
      records: new Map(),
      items: new Map(),
      parcels: new Map(),
      letIn: [],
      said: new Map(),
    })
  }

  const ledgerOf = (ask: Ask): JobContext['ledger'] => ({
    plan: ({ profileId, nowMs, range, again, streams }) =>
      ask('plan', () => {
        const here = people.get(profileId)
        if (!here) return undefined
        const { externalId, state, ledger, refused, parcels } = here
        const isDigesting = ledger.digestedAtMs > nowMs && chance(3) > 0
        const due = dueWindows({
          wanted: range ?? { from: BEGIN - HISTORY, to: nowMs + 2 },
          covered: again ? [] : ledger.covered,
          blocked: [
            ...refused.flatMap(({ window, untilMs }) => (untilMs > now() ? [window] : [])),
            ...(isDigesting ? ledger.digesting : []),
          ],
          sizeMs: days.windowMs,
          windowsMax: 10,
        })
        return {
          profile: { profileId, externalId, state, waiting: parcels.size > 0 ? ['data-logs'] : [] },
          due:
            streams?.length === 0 ? [] : due.map((window) => ({ stream: days, window, generation: ledger.generation })),
        }
      }),
    refuse: ({ profileId, window }) =>
      ask('refuse', () => {
        people.get(profileId)?.refused.push({ window, untilMs: now() + 10 })
      }),
  })

  function store(request: StoreRequest): Stored {
    const here = people.get(request.profileId)
    const told: Told[] = request.records.map(({ raw }) => JSON.parse(raw))
    const counts = { read: told.length, written: 0, odd: 0 }
    if (!here) return { outcome: 'erased', ...counts }
    const { window, sentAtMs } = request
    const crossing = told.filter((one) => !isInside(one, window))
    const edges = {
      crossing: crossing.map(({ name }) => name),
      reachesBack: crossing.some((one) => reachesInto(one, window)),
    }
    const { serverAtMs, generation } = request
    const arrival = { span: window, whole: false, ...edges, sentAtMs, serverAtMs, generation, settleMs: SETTLE }
    const verdict = judge(arrival, here.ledger, now())
    if (verdict.kind !== 'admitted') return { outcome: 'too-old', ...counts }

    for (const one of told) {
      const known = here.records.get(one.name)
      if (isTheirs(one, verdict.newer) || (known && known.readAtMs >= sentAtMs)) continue
      // What is unchanged is not touched, and keeps the instant of the reading that wrote it.
      if (known?.value === one.value && !known.gone) continue
      here.records.set(one.name, { ...one, readAtMs: sentAtMs, gone: false })
    }
    const held = new Set([...told.map(({ name }) => name), ...verdict.newer.flatMap((read) => read.crossing)])
    for (const [name, known] of verdict.complete ? here.records : []) {
      if (known.gone || known.readAtMs >= sentAtMs || held.has(name)) continue
      if (mustHaveHeld({ ...window, ...edges }, known))
        here.records.set(name, { ...known, gone: true, readAtMs: sentAtMs })
    }
    const { ledger } = here
    here.ledger = {
      ...ledger,
      recent: verdict.recent,
      covered: normalize([...ledger.covered, ...verdict.covers]),
      digesting: sentAtMs >= ledger.digestedAtMs ? subtract(ledger.digesting, verdict.covers) : ledger.digesting,
    }
    here.refused = here.refused.filter(({ window: no }) => no.to <= window.from || window.to <= no.from)
    const values = new Map(told.map(({ name, value }) => [name, value]))
    here.letIn.push({ ...window, sentAtMs, ...edges, complete: verdict.complete, told: values })
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
    registering: (profileId, forMs) =>
      ask('note registration', () => {
        const here = people.get(profileId)
        if (!here || (here.state === 'gone' && forMs > 0)) return false
        // Minutes there, moments here.
        here.registeringUntil = now() + Math.min(forMs, UNDER_WAY_MAX)
        return true
      }),
    registeringMs: (profileId) =>
      ask('look for registration', () => Math.max(0, (people.get(profileId)?.registeringUntil ?? 0) - now())),
    erase: (profileId) =>
      ask('erase', () => {
        people.delete(profileId)
        return []
      }),
    add: () => ask('add', () => ({ added: 0, known: 0, erased: 0 })),
  })

  function touch({ profileId, parcels }: Push): void {
    const here = people.get(profileId)
    if (!here) return
    const spans = parcels.map(({ startAtMs, endAtMs }) => ({ from: startAtMs - 2, to: endAtMs + 3 }))
    const { ledger } = here
    here.ledger = {
      ...ledger,
      generation: ledger.generation + 1,
      covered: subtract(ledger.covered, spans),
      digesting: normalize([...ledger.digesting, ...spans]),
      digestedAtMs: now() + digestMs,
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
