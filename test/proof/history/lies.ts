import type { FinalState } from './history.ts'
import { exchanged, type Lie, withEvents, withFinal, witnessing } from './lie.ts'
import { readingLies } from './reading-lies.ts'
import { eventsOf } from './rules.ts'

function item(change: (one: FinalState['upstreamItems'][number]) => FinalState['upstreamItems']): Lie['tell'] {
  return (run, pick) => {
    const { upstreamItems } = run.final
    const one = pick(upstreamItems)
    return withFinal(run, { upstreamItems: exchanged(upstreamItems, one, ...change(one)) })
  }
}

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
