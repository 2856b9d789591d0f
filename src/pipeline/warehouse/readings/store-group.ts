import { type Admission, isHeldByNewer, judgeReading, type WindowEdges } from '../../ledger/judge.ts'
import type { LatenessCounts } from '../../ledger/lateness.ts'
import type { SettleSettings } from '../../ledger/settle-time.ts'
import type { Belief } from '../../ledger/suspicion.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { type LockedLedgerRow, lockLedgerRows, profileStreamKey, writeLedgerRows } from '../ledger/ledger-rows.ts'
import { findHeldTags, type HeldTags, prepareTagChanges } from '../ledger/reading-tags.ts'
import { pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import { daysToExplain, explainEmptyDays } from './empty-days.ts'
import { quarantineInvalid, releaseMended } from './invalid-records.ts'
import {
  type ChangeSummary,
  findRecordChanges,
  type StreamChanges,
  summarizeChanges,
  writeRecordChanges,
} from './record-changes.ts'
import {
  type AdmittedReading,
  type PreparedReading,
  type RecordRow,
  recordKeyHash,
  recordPeriod,
  windowEdgesOf,
} from './record-rows.ts'
import { recordSilentDifferences, settleReadings } from './settle-readings.ts'
import { resolveUnits, writeDrift } from './stored-drift.ts'
import { resolveSuspicions } from './suspicious-readings.ts'
import { tagChangesOf } from './tag-changes.ts'

export type StoreResult = {
  /**
   * `erased`: the profile is no longer ours. `too-old`: newer readings may be forgotten. Neither stores anything. `suspicious`:
   * the records are stored, but nothing is covered or gone until a second reading agrees. `outdated`: the reading is about a
   * tag that no longer matches the stored records, so that it says nothing.
   */
  readonly outcome: 'stored' | 'suspicious' | 'outdated' | 'erased' | 'too-old'
  readonly read: number
  readonly written: number
  readonly invalid: number
}

/**
 * Stores a group of readings, and what the ledger may say about them, in the transaction `tx`, whose begin is under way.
 * At most one reading per profile and stream: a statement cannot write the same record twice.
 */
export async function storeGroup(
  { tx, begun }: { readonly tx: Tx; readonly begun: Promise<unknown> },
  group: readonly PreparedReading[],
  rules: StoreRules,
): Promise<{
  /** One for each reading of the group. */
  readonly results: readonly StoreResult[]
  readonly lateness: ReadonlyMap<PulledStream, LatenessCounts>
  readonly counts: readonly RowCounts[]
}> {
  const { nowMs, account } = rules
  const locking = lockLedgerRows(tx, group, account)
  const finding = findHeldTags(
    tx,
    group.filter(({ unchanged }) => unchanged),
  )
  await pipelined<unknown>([begun, locking, finding])
  const [ledger, held] = [await locking, await finding]
  const judged = group.map((reading) => ({ reading, verdict: judge(reading, { ledger, held }, nowMs) }))
  const all = judged.flatMap(({ verdict }) => (verdict.kind === 'admitted' ? [verdict] : []))
  const compared = { admitted: all, changes: await findChanges(tx, all, { ledger, ...rules }) }
  const { admitted, changes } = await resolveSuspicions(tx, compared, { ledger, ...rules })
  const suspiciousUnits = await resolveUnits(tx, admitted, ledger)
  const summaries = summarizeChanges(changes)
  const { settled, silent, lateness } = settleReadings(admitted, { ledger, summaries, suspiciousUnits, ...rules })
  const emptyDays = daysToExplain(settled, ledger)
  const sendTagChanges = prepareTagChanges(tx, tagChangesOf({ admitted, changes }, ledger))
  const writing = [
    ...writeRecordChanges(tx, changes),
    writeLedgerRows(tx, settled),
    releaseMended(tx, admitted),
    quarantineInvalid(tx, admitted, nowMs),
    ...sendTagChanges(),
    recordSilentDifferences(tx, account, silent),
    writeDrift(tx, admitted),
  ]
  if (emptyDays.length === 0) await tx.commit(writing)
  else {
    await pipelined<unknown>(writing)
    await explainEmptyDays(tx, emptyDays, { ledger, nowMs })
  }
  const suspicious = new Set(admitted.filter(({ believed }) => !believed).map(profileStreamKey))
  const results = judged.map(
    ({ reading, verdict }): StoreResult => ({
      outcome:
        verdict.kind !== 'admitted'
          ? verdict.kind
          : suspicious.has(profileStreamKey(reading))
            ? 'suspicious'
            : 'stored',
      read: reading.rows.length,
      written: countChanges(summaries.get(profileStreamKey(reading))),
      invalid: reading.invalid.length,
    }),
  )
  return { results, lateness, counts: countRows(admitted, changes) }
}

type StoreRules = {
  readonly nowMs: number
  /** Digest of upstream's address and the client id. */
  readonly account: string
  readonly belief: Belief
  readonly settle: SettleSettings
}

/** The outcome of one stream's rows in one transaction. */
export type RowCounts = {
  readonly stream: string
  /** Rows of readings, those included that said that nothing has changed: of them no row is read. */
  readonly read: number
  readonly written: number
  readonly gone: number
}

function countRows(admitted: readonly AdmittedReading[], changes: readonly StreamChanges[]): RowCounts[] {
  const byStream = Map.groupBy(changes, ({ stream }) => stream)
  return [...Map.groupBy(admitted, ({ stream }) => stream)].map(([stream, readings]) => {
    const parts = byStream.get(stream) ?? []
    const sum = (count: (part: StreamChanges) => number) => parts.reduce((total, part) => total + count(part), 0)
    return {
      stream: stream.name,
      read: readings.reduce((total, { rows }) => total + rows.length, 0),
      written: sum(({ added, changed }) => added.length + changed.length),
      gone: sum(({ vanished }) => vanished.length),
    }
  })
}

const countChanges = (summary: ChangeSummary | undefined): number =>
  summary ? summary.came.length + summary.changed.length : 0

type LockedLedger = ReadonlyMap<string, LockedLedgerRow>

function judge(reading: PreparedReading, { ledger, held }: { ledger: LockedLedger; held: HeldTags }, nowMs: number) {
  const key = profileStreamKey(reading)
  const edges = reading.unchanged ? held.get(key) : windowEdgesOf(reading.rows, reading.window)
  if (edges === undefined) return { kind: ledger.has(key) ? 'outdated' : 'erased' } as const
  const verdict = judgeReading({ ...reading, ...edges }, ledger.get(key), nowMs)
  return verdict.kind === 'admitted' ? admit(reading, edges, verdict) : verdict
}

function admit(reading: PreparedReading, edges: WindowEdges, admission: Admission): AdmittedReading {
  const { stream, window, rows } = reading
  const { newer } = admission
  const isOurs = (row: RecordRow) =>
    stream.kind === 'windowed' && !isHeldByNewer({ ...recordPeriod(row), keyHash: recordKeyHash(row) }, newer)
  return {
    ...reading,
    ...admission,
    rows: newer.length === 0 ? rows : rows.filter(isOurs),
    // A record that the reading lacks is gone, unless a part of the answer could not be read.
    complete: admission.complete && reading.invalid.length === 0 && !reading.unchanged,
    edges,
    reachBackToMs: window.startMs - (edges.reachesBack ? (stream.longestMs ?? 0) : 0),
    heldByNewer: newer.flatMap(({ crossingHashes }) => crossingHashes),
    believed: true,
  }
}

function findChanges(
  tx: Tx,
  admitted: readonly AdmittedReading[],
  { ledger, belief }: { readonly ledger: LockedLedger; readonly belief: Belief },
): Promise<StreamChanges[]> {
  const isFirst = (reading: AdmittedReading) => ledger.get(profileStreamKey(reading))?.unread === true
  return pipelined(
    [...Map.groupBy(admitted, ({ stream }) => stream)].map(([stream, readings]) => {
      const { first = [], later = [] } = Object.groupBy(readings, (reading) => (isFirst(reading) ? 'first' : 'later'))
      return findRecordChanges(tx, stream, { first, later, goneShareMax: belief.goneShareMax })
    }),
  )
}
