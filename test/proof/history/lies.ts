import { DAY } from '../../../src/base/time/units.ts'
import type { FinalProfile, FinalState, HistoryEvent, StoredStream, Witnessed } from './history.ts'
import { eventsOf, type Rule, type RunSeen } from './rules.ts'

/** One false statement about a true run; `pick` chooses where. */
export type Lie = { readonly rule: Rule; readonly says: string; tell(run: RunSeen, pick: Pick): RunSeen }
export type Pick = <T>(from: readonly T[]) => T

const withFinal = ({ events, final }: RunSeen, changes: Partial<FinalState>): RunSeen => ({
  events,
  final: { ...final, ...changes },
})
const withEvents = ({ events, final }: RunSeen, ...more: HistoryEvent[]): RunSeen => ({
  events: [...events, ...more],
  final,
})
const exchanged = <T>(items: readonly T[], former: T, ...next: T[]): T[] =>
  items.flatMap((item) => (item === former ? next : [item]))

const isKind =
  <K extends Witnessed['kind']>(kind: K) =>
  (row: Witnessed): row is Extract<Witnessed, { kind: K }> =>
    row.kind === kind

/** Repeats or changes one witnessed row; `next` gets a time after all others. */
function witnessing<K extends Witnessed['kind']>(
  kind: K,
  next: (row: Extract<Witnessed, { kind: K }>, late: { n: number; atMs: number }) => Witnessed[],
  matches: (row: Extract<Witnessed, { kind: K }>) => boolean = () => true,
): Lie['tell'] {
  return (run, pick) => {
    const { witnessed } = run.final
    const row = pick(witnessed.filter(isKind(kind)).filter(matches))
    const late = { n: witnessed.length + 1, atMs: (witnessed.at(-1)?.atMs ?? 0) + DAY }
    const changed = exchanged<Witnessed>(witnessed, row, ...next(row, late))
    return withFinal(run, { witnessed: changed.toSorted((one, other) => one.n - other.n) })
  }
}

function item(change: (one: FinalState['upstreamItems'][number]) => FinalState['upstreamItems']): Lie['tell'] {
  return (run, pick) => {
    const { upstreamItems } = run.final
    const one = pick(upstreamItems)
    return withFinal(run, { upstreamItems: exchanged(upstreamItems, one, ...change(one)) })
  }
}

type FinalStream = FinalProfile['streams'][number]

function stream(change: (one: FinalStream, pick: Pick) => FinalStream): Lie['tell'] {
  return (run, pick) => {
    const { profiles } = run.final
    const profile = pick(profiles)
    const one = pick(profile.streams)
    const streams = exchanged(profile.streams, one, change(one, pick))
    return withFinal(run, { profiles: exchanged(profiles, profile, { ...profile, streams }) })
  }
}

const without = <T>(items: readonly T[], pick: Pick): T[] => exchanged(items, pick(items))
const pushLies: Lie[] = [
  { rule: 'push lost', says: 'an acknowledged item is not upstream', tell: item(() => []) },
  { rule: 'push doubled', says: 'an item is upstream twice', tell: item((one) => [one, one]) },
  {
    rule: 'older push on top',
    says: 'upstream has a form older than the acknowledged one',
    tell: item((one) => [{ ...one, version: 0 }]),
  },
  { rule: 'push invented', says: 'nobody handed this form in', tell: item((one) => [{ ...one, version: 99 }]) },
  { rule: 'item never pushed', says: 'an item waits', tell: (run) => withFinal(run, { waitingItems: 1 }) },
  { rule: 'item never pushed', says: 'an item is quarantined', tell: (run) => withFinal(run, { quarantined: 1 }) },
]

const staleRecord = witnessing('record', (row, late) => [
  row,
  { ...row, ...late, readAtMs: row.readAtMs - 1, gone: true },
])

const readingLies: Lie[] = [
  {
    rule: 'record invented',
    says: 'a stored record was never served',
    tell: witnessing(
      'record',
      (row) => [{ ...row, record: { ...row.record, digest: 'made up' } }],
      ({ gone }) => !gone,
    ),
  },
  {
    rule: 'record invented',
    says: 'a record is stamped later than any request',
    tell: witnessing(
      'record',
      (row) => [{ ...row, readAtMs: row.readAtMs + DAY }],
      ({ gone }) => !gone,
    ),
  },
  { rule: 'older reading on top', says: 'a version replaces a newer one', tell: staleRecord },
  {
    rule: 'older reading on top',
    says: 'a version replaces one that a later reading confirmed',
    tell(run, pick) {
      const ledger = pick(run.final.witnessed.filter(isKind('ledger')))
      const confirming: Witnessed = { ...ledger, n: ledger.n + 0.1, recent: [[0, 10 * DAY, ledger.atMs + DAY]] }
      const { profileId, stream } = ledger
      const record = { key: 'new', digest: 'new', startMs: DAY, endMs: DAY + 1 }
      const late = { n: ledger.n + 0.2, atMs: ledger.atMs, readAtMs: ledger.atMs, gone: true }
      const added: Witnessed[] = [confirming, { kind: 'record', profileId, stream, record, ...late }]
      const witnessed = [...run.final.witnessed, ...added].toSorted((one, other) => one.n - other.n)
      return withFinal(run, { witnessed })
    },
  },
  {
    rule: 'reading refused by Postgres',
    says: 'a version ends before it begins',
    tell: witnessing('ledger', ({ profileId, stream, ...row }, late) => [
      { profileId, stream, ...row },
      { ...late, kind: 'refusal', profileId, stream, reason: 'store reading: Postgres refuses it (22000)' },
    ]),
  },
  {
    rule: 'covered unlike upstream',
    says: 'a covered record is missing',
    tell: stream((one, pick) => ({ ...one, records: without(one.records, pick) })),
  },
  {
    rule: 'covered unlike upstream',
    says: 'a covered record is gone upstream',
    tell: stream((one, pick) => ({ ...one, served: without(one.served, pick) })),
  },
  {
    rule: 'covered unlike upstream',
    says: 'a covered record has a former value',
    tell: stream((one, pick) => {
      const record = pick(one.records)
      return { ...one, records: exchanged(one.records, record, { ...record, digest: 'former' }) }
    }),
  },
  {
    rule: 'covered without rows',
    says: 'a snapshot covers a record that it lacks',
    tell(run, pick) {
      const snapshot = pick(eventsOf(run.events, 'snapshot'))
      const lacking: StoredStream['records'] = snapshot.records.filter(({ startMs }) => startMs > 0)
      return { ...run, events: exchanged<HistoryEvent>(run.events, snapshot, { ...snapshot, records: lacking }) }
    },
  },
  {
    rule: 'never covered',
    says: 'a wanted span has a gap',
    tell: stream((one) => ({ ...one, covered: [[0, 3 * DAY] as const, [3 * DAY + 1, 10 * DAY] as const] })),
  },
]

function runLie(change: (one: FinalState['runs'][number]) => FinalState['runs']): Lie['tell'] {
  return (run, pick) => {
    const one = pick(run.final.runs)
    return withFinal(run, { runs: exchanged(run.final.runs, one, ...change(one)) })
  }
}

const orderLies: Lie[] = [
  {
    rule: 'order ended twice',
    says: 'an order ends again',
    tell: witnessing('order', (row, late) => [row, { ...row, ...late, ended: true }]),
  },
  {
    rule: 'order ended twice',
    says: 'an ended order is recorded again',
    tell: witnessing('order', (row, late) => [row, { ...row, ...late, ended: false }]),
  },
  {
    rule: 'order never ended',
    says: 'no job ended it',
    tell: witnessing(
      'order',
      () => [],
      ({ ended }) => ended,
    ),
  },
  { rule: 'run never ended', says: 'a run goes on', tell: runLie((one) => [{ ...one, state: 'running' }]) },
  { rule: 'run miscounted', says: 'one job too many', tell: runLie((one) => [{ ...one, ended: one.ended + 1 }]) },
  {
    rule: 'run miscounted',
    says: 'one order too few',
    tell: runLie((one) => [{ ...one, enqueued: one.enqueued - 1 }]),
  },
  { rule: 'slot taken twice', says: 'two runs of a slot', tell: runLie((one) => [one, { ...one, run: '77' }]) },
]

const tokenLies: Lie[] = [
  {
    rule: 'token leased twice',
    says: 'a lease is given while another one runs',
    tell: witnessing(
      'token',
      (row) => [{ ...row, formerUntilMs: row.atMs + 1 }],
      ({ step }) => step === 'lease',
    ),
  },
  {
    rule: 'token renewed without a lease',
    says: 'more tokens than leases',
    tell(run, pick) {
      const call = pick(eventsOf(run.events, 'token').filter((one) => one.call !== 'refresh'))
      return withEvents(run, ...Array.from({ length: run.final.witnessed.length }, () => call))
    },
  },
  {
    rule: 'generation stored twice',
    says: 'a generation is stored again',
    tell: witnessing(
      'token',
      (row) => [row, { ...row, n: row.n + 0.1 }],
      ({ step }) => step === 'save',
    ),
  },
  {
    rule: 'generation stored twice',
    says: 'a generation is left out',
    tell: witnessing(
      'token',
      (row) => [{ ...row, generation: row.generation + 1 }],
      ({ step }) => step === 'save',
    ),
  },
  {
    rule: 'refresh token spent twice',
    says: 'two requests carry one refresh token',
    tell(run, pick) {
      const call = pick(eventsOf(run.events, 'token'))
      const refresh = { ...call, call: 'refresh' as const, spent: 'one', outcome: 'refused' as const }
      return withEvents(run, refresh, refresh)
    },
  },
]

const erased = { profile: 'erased', profileId: '99' }

const erasureLies: Lie[] = [
  {
    rule: 'row of an erased person',
    says: 'a row is left',
    tell: (run) => withFinal(run, { rowsOfErased: [{ profile: 'erased', table: 'vitalsync.history', rows: 1 }] }),
  },
  {
    rule: 'row written after the erasure',
    says: 'a reading stores a record of an erased person',
    tell: witnessing('record', (row, late) => [row, { ...row, ...late, profileId: erased.profileId, gone: true }]),
  },
  {
    rule: 'erased person came back',
    says: 'an import adds the person again',
    tell: (run) => withEvents(run, { kind: 'revival', profile: 'erased', added: true }),
  },
  {
    rule: 'erased person came back',
    says: 'upstream knows the person again',
    tell: (run) => withFinal(run, { upstreamProfiles: [...run.final.upstreamProfiles, 'erased'] }),
  },
  {
    rule: 'erasure never ended',
    says: 'nobody acknowledged it',
    tell: (run) => withEvents(run, { kind: 'erasure', profile: 'other', profileId: '98', outcome: 'unknown', atMs: 0 }),
  },
]

const restLies: Lie[] = [
  {
    rule: 'fault never fired',
    says: 'a planned fault had no effect',
    tell: (run) => ({
      ...run,
      events: run.events.map((event) =>
        event.kind === 'fault' && event.fault === 'cut-queue' ? { ...event, fired: false } : event,
      ),
    }),
  },
  {
    rule: 'never at rest',
    says: 'work is left at the limit',
    tell: (run) => withEvents(run, { kind: 'rest', reached: false, rounds: 9, tookMs: 9, left: '1 orders' }),
  },
  {
    rule: 'never at rest',
    says: 'the run was broken off',
    tell: (run) => ({ ...run, events: run.events.filter(({ kind }) => kind !== 'rest') }),
  },
]

export const lies: readonly Lie[] = [
  ...pushLies,
  ...readingLies,
  ...orderLies,
  ...tokenLies,
  ...erasureLies,
  ...restLies,
]
