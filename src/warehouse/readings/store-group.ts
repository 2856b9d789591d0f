import { type AdmissionVerdict, isHeldByNewer, judgeReading, type WindowEdges } from '../../ledger/judge.ts'
import { type LockedLedgerRow, lockLedgerRows, profileStreamKey, writeLedgerRows } from '../ledger/ledger-rows.ts'
import { pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import { quarantineInvalid } from '../quarantine/invalid-records.ts'
import type { AdmittedReading, PreparedReading } from './prepared-reading.ts'
import { countWritten, findRecordChanges, type StreamChanges, writeRecordChanges } from './record-changes.ts'
import { type RecordRow, recordKeyHash, recordPeriod, windowEdgesOf } from './record-rows.ts'

export type StoreResult = {
  /** `erased`: the profile is no longer ours. `too-old`: newer readings may be forgotten. Neither stores anything. */
  readonly outcome: 'stored' | 'erased' | 'too-old'
  readonly read: number
  readonly written: number
  readonly invalid: number
}

/**
 * Stores a group of readings, and what the ledger may say about them, in the transaction `tx`.
 * At most one reading per profile and stream: a statement cannot write the same record twice.
 */
export async function storeGroup(tx: Tx, group: readonly PreparedReading[], nowMs: number): Promise<StoreResult[]> {
  const ledger = await lockLedgerRows(tx, group)
  const judged = group.map((reading) => ({ reading, verdict: judge(reading, ledger, nowMs) }))
  const admitted = judged.flatMap(({ verdict }) => (verdict.kind === 'admitted' ? [verdict] : []))
  const changes = await findChanges(tx, admitted, ledger)
  await pipelined([
    writeRecordChanges(tx, changes),
    writeLedgerRows(tx, admitted),
    quarantineInvalid(tx, admitted, nowMs),
  ])
  const written = countWritten(changes)
  return judged.map(({ reading, verdict }) => ({
    outcome: verdict.kind === 'admitted' ? 'stored' : verdict.kind,
    read: reading.rows.length,
    written: written.get(profileStreamKey(reading)) ?? 0,
    invalid: reading.invalid.length,
  }))
}

type LockedLedger = ReadonlyMap<string, LockedLedgerRow>

function judge(reading: PreparedReading, ledger: LockedLedger, nowMs: number) {
  const edges = windowEdgesOf(reading.rows, reading.window)
  const verdict = judgeReading({ ...reading, ...edges }, ledger.get(profileStreamKey(reading)), nowMs)
  return verdict.kind === 'admitted' ? admit(reading, edges, verdict) : verdict
}

function admit(reading: PreparedReading, edges: WindowEdges, verdict: AdmissionVerdict): AdmittedReading {
  const { stream, window, rows } = reading
  const { newer } = verdict
  const isOurs = (row: RecordRow) =>
    stream.kind === 'windowed' && !isHeldByNewer({ ...recordPeriod(row), keyHash: recordKeyHash(row) }, newer)
  return {
    ...reading,
    ...verdict,
    rows: newer.length === 0 ? rows : rows.filter(isOurs),
    // A record that the reading lacks is gone, unless a part of the answer could not be read.
    complete: verdict.complete && reading.invalid.length === 0,
    reachBackToMs: window.startMs - (edges.reachesBack ? (stream.longestMs ?? 0) : 0),
    heldByNewer: newer.flatMap(({ crossingHashes }) => crossingHashes),
  }
}

function findChanges(tx: Tx, admitted: readonly AdmittedReading[], ledger: LockedLedger): Promise<StreamChanges[]> {
  const isFirst = (reading: AdmittedReading) => ledger.get(profileStreamKey(reading))?.unread === true
  return pipelined(
    [...Map.groupBy(admitted, ({ stream }) => stream)].map(([stream, readings]) => {
      const { first = [], later = [] } = Object.groupBy(readings, (reading) => (isFirst(reading) ? 'first' : 'later'))
      return findRecordChanges(tx, stream, { first, later })
    }),
  )
}
