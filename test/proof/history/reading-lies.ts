import { DAY } from '../../../src/base/time/units.ts'
import type { FinalProfile, HistoryEvent, StoredStream, Witnessed } from './history.ts'
import { exchanged, isKind, type Lie, type Pick, withFinal, witnessing } from './lie.ts'
import { eventsOf } from './rules.ts'

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

const staleRecord = witnessing('record', (row, late) => [
  row,
  { ...row, ...late, readAtMs: row.readAtMs - 1, gone: true },
])

export const readingLies: Lie[] = [
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
    rule: 'covered by an outdated reading',
    says: 'a push came after the request',
    tell: witnessing(
      'ledger',
      (row) => [{ ...row, n: row.n - 0.1, atMs: row.atMs - 1, recent: [], touched: true, grew: false }, row],
      ({ grew }) => grew,
    ),
  },
  {
    rule: 'covered by an outdated reading',
    says: 'nobody asked for the window',
    tell: witnessing(
      'ledger',
      (row) => [{ ...row, recent: [[0, 10 * DAY + 1, row.atMs]] }],
      ({ grew }) => grew,
    ),
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
    rule: 'covered unlike upstream',
    says: 'a record without a window is missing',
    tell(run, pick) {
      const { profiles } = run.final
      const profile = pick(profiles)
      const snapshots = profile.snapshots.map((one) => ({ ...one, records: without(one.records, pick) }))
      return withFinal(run, { profiles: exchanged(profiles, profile, { ...profile, snapshots }) })
    },
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
    rule: 'covered without rows',
    says: 'commits store nothing, and one of them covers',
    tell(run, pick) {
      const { profileId, stream, n } = pick(run.final.witnessed.filter(isKind('ledger')).filter(({ grew }) => grew))
      const isLost = (row: Witnessed) =>
        row.kind === 'record' && row.profileId === profileId && row.stream === stream && row.n < n
      return withFinal(run, { witnessed: run.final.witnessed.filter((row) => !isLost(row)) })
    },
  },
  {
    rule: 'never covered',
    says: 'a wanted span has a gap',
    tell: stream((one) => ({ ...one, covered: [[0, 3 * DAY] as const, [3 * DAY + 1, 10 * DAY] as const] })),
  },
]
