import { isJsonObject, jsonOrUndefined } from '../../../base/text/json.ts'
import { READING_AGE_MAX_MS } from '../../ledger/judge.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import { NO_DRIFT } from '../readings/reading-drift.ts'
import { findRecordChanges, writeRecordChanges } from '../readings/record-changes.ts'
import { type AdmittedReading, latestStartMsOf, type RecordRow, toRecordRows } from '../readings/record-rows.ts'
import { mayBeUnstorable } from '../readings/storable-rows.ts'

/** A record that was pulled. `seen_at`: when upstream last sent it, in milliseconds. */
export type QuarantinedPull = {
  readonly id: string
  readonly profile_id: string
  readonly stream: string
  readonly body: string
  readonly read_from: number | null
  readonly read_to: number | null
  readonly seen_at: number
}

type Fitting = { readonly pull: QuarantinedPull; readonly stream: PulledStream; readonly row: RecordRow }

/**
 * Stores the records that fit by the present rules, as a reading would that says nothing of other records: nothing is covered or
 * gone by it. Returns the ids of the records that are stored now. A record of whose key another is stored is left to upstream:
 * nobody knows which of the two is newer.
 */
export async function storeFitting(
  tx: Tx,
  streams: readonly PulledStream[],
  pulls: readonly QuarantinedPull[],
): Promise<ReadonlySet<string>> {
  const known = pulls.toReversed().flatMap((pull) => fittingOf(streams, pull) ?? [])
  if (known.length === 0) return new Set()
  const { nowMs, isRead } = await lockLedger(tx, known)
  const fitting = known.filter(({ pull }) => isRead.has(`${pull.profile_id} ${pull.stream}`))
  const stored = new Set<string>()
  for (const [stream, ofStream] of Map.groupBy(fitting, (entry) => entry.stream)) {
    const readings = [...Map.groupBy(ofStream, ({ pull }) => pull.profile_id).values()].map((entries) =>
      readingOf(stream, entries, nowMs),
    )
    const changes = await findRecordChanges(tx, stream, { first: [], later: readings, goneShareMax: 0 })
    await writeRecordChanges(tx, [{ ...changes, changed: [] }])
    const added = new Set(changes.added.map(({ row, reading }) => `${reading.profileId} ${row.key}`))
    for (const { pull, row } of ofStream) if (added.has(`${pull.profile_id} ${row.key}`)) stored.add(pull.id)
  }
  return stored
}

function fittingOf(streams: readonly PulledStream[], pull: QuarantinedPull): Fitting | undefined {
  const stream = streams.find(({ name }) => name === pull.stream)
  const fields = jsonOrUndefined(pull.body)
  if (!stream || !isJsonObject(fields) || !stream.schema.safeParse(fields).success) return undefined
  const window = { startMs: pull.read_from ?? pull.seen_at, endMs: pull.read_to ?? pull.seen_at }
  const latestStartMs = latestStartMsOf({ window, sentAtMs: pull.seen_at })
  const [row] = toRecordRows(stream, [{ raw: pull.body, fields }], latestStartMs).rows
  // A text that Postgres may refuse would take the others of its portion with it.
  return row && !mayBeUnstorable(row) ? { pull, stream, row } : undefined
}

/** A stream that was never read is left to its first reading, which is stored without a comparison. */
async function lockLedger(tx: Tx, fitting: readonly Fitting[]): Promise<{ nowMs: number; isRead: Set<string> }> {
  const { rows } = await tx.query<{ profile_id: string; stream: string; is_read: boolean; now_ms: number }>(
    `select l.profile_id, l.stream, l.read_at is not null as is_read, ${epochMsSql('statement_timestamp()')} as now_ms
     from vitalsync.ledger l where l.profile_id = any($1) and l.stream = any($2)
     order by l.profile_id, l.stream for update of l`,
    [[...new Set(fitting.map(({ pull }) => pull.profile_id))], [...new Set(fitting.map(({ pull }) => pull.stream))]],
  )
  const read = rows.filter((row) => row.is_read).map((row) => `${row.profile_id} ${row.stream}`)
  return { nowMs: rows[0]?.now_ms ?? 0, isRead: new Set(read) }
}

/** The newest form of each key. It is not younger than a reading that is on its way, so that whatever that one says comes later. */
function readingOf(stream: PulledStream, entries: readonly Fitting[], nowMs: number): AdmittedReading {
  const rows = [...new Map(entries.toReversed().map(({ row }) => [row.key, row])).values()]
  const ends = entries.flatMap(({ pull }) => [pull.read_from ?? pull.seen_at, pull.read_to ?? pull.seen_at])
  const window = { startMs: Math.min(...ends), endMs: Math.max(...ends) }
  const sentAtMs = Math.max(nowMs - READING_AGE_MAX_MS, Math.min(...entries.map(({ pull }) => pull.seen_at)) - 1)
  return {
    ...{ profileId: entries[0]?.pull.profile_id ?? '', stream, window, rows, invalid: [], drift: NO_DRIFT },
    ...{ generation: 0, sentAtMs, serverAtMs: undefined, word: 'pending', tag: undefined, unchanged: false },
    ...{ kind: 'admitted', newer: [], recent: [], complete: false, mayCover: false, isPartial: true, believed: true },
    ...{ reachBackToMs: window.startMs, heldByNewer: [], edges: { crossingHashes: [], reachesBack: false } },
  }
}
