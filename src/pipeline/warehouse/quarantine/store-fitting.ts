import { isJsonObject, jsonOrUndefined } from '../../../base/text/json.ts'
import type { Span } from '../../../base/time/spans.ts'
import { READING_AGE_MAX_MS } from '../../ledger/judge.ts'
import type { Fields, PulledStream } from '../../transfer/stream.ts'
import { type LockedLedgerRow, profileStreamKey } from '../ledger/ledger-rows.ts'
import { pipelined, type Tx } from '../postgres/warehouse-pool.ts'
import { driftOfRecords, NO_DRIFT, type ReadingExaminer } from '../readings/reading-drift.ts'
import { findRecordChanges, writeRecordChanges } from '../readings/record-changes.ts'
import { type AdmittedReading, latestStartMsOf, type RecordRow, toRecordRows } from '../readings/record-rows.ts'
import { mayBeUnstorable } from '../readings/storable-rows.ts'
import { resolveUnits, writeDrift } from '../readings/stored-drift.ts'

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

type Fitting = {
  readonly pull: QuarantinedPull
  readonly stream: PulledStream
  readonly row: RecordRow
  readonly fields: Fields
}

type FittingOptions = {
  readonly streams: readonly PulledStream[]
  readonly examiner: ReadingExaminer
  /** The rows of these people, which the caller has locked. */
  readonly ledger: ReadonlyMap<string, LockedLedgerRow>
  readonly nowMs: number
}

/**
 * Stores the records that fit by the present rules, as a reading would that says nothing of other records: nothing is covered or
 * gone by it, and a day in another unit is suspicious. Returns the ids of the records that are stored now. A record of whose key
 * another is stored is left to upstream: nobody knows which of the two is newer.
 */
export async function storeFitting(
  tx: Tx,
  pulls: readonly QuarantinedPull[],
  { streams, examiner, ledger, nowMs }: FittingOptions,
): Promise<ReadonlySet<string>> {
  const known = pulls.toReversed().flatMap((pull) => fittingOf(streams, pull) ?? [])
  // A stream that was never read is left to its first reading, which is stored without a comparison.
  const fitting = known.filter(
    ({ pull, stream }) => ledger.get(profileStreamKey({ profileId: pull.profile_id, stream }))?.unread === false,
  )
  const stored = new Set<string>()
  for (const [stream, ofStream] of Map.groupBy(fitting, (entry) => entry.stream)) {
    const byProfile = Map.groupBy(ofStream, ({ pull }) => pull.profile_id)
    const readings = [...byProfile.values()].map((entries) => readingOf(stream, entries, nowMs))
    const changes = await findRecordChanges(tx, stream, { first: [], later: readings, goneShareMax: 0 })
    await pipelined(writeRecordChanges(tx, [{ ...changes, changed: [] }]))
    const added = new Set(changes.added.map(({ row }) => row))
    const examined = readings.map((reading) => {
      const records = (byProfile.get(reading.profileId) ?? []).filter(({ row }) => added.has(row))
      return {
        ...reading,
        drift: driftOfRecords(
          stream,
          records.map(({ fields }) => fields),
          examiner,
        ),
      }
    })
    await writeDrift(tx, examined)
    await uncoverUnits(tx, await resolveUnits(tx, examined, ledger))
    const keys = new Set(changes.added.map(({ row, reading }) => `${reading.profileId} ${row.key}`))
    for (const { pull, row } of ofStream) if (keys.has(`${pull.profile_id} ${row.key}`)) stored.add(pull.id)
  }
  return stored
}

function fittingOf(streams: readonly PulledStream[], pull: QuarantinedPull): Fitting | undefined {
  const stream = streams.find(({ name }) => name === pull.stream)
  const fields = jsonOrUndefined(pull.body)
  if (!stream || !isJsonObject(fields) || !stream.schema.safeParse(fields).success) return undefined
  const latestStartMs = latestStartMsOf({ window: readSpanOf(pull), sentAtMs: pull.seen_at })
  const [row] = toRecordRows(stream, [{ raw: pull.body, fields }], latestStartMs).rows
  // A text that Postgres may refuse would take the others of its portion with it.
  return row && !mayBeUnstorable(row) ? { pull, stream, row, fields } : undefined
}

const readSpanOf = ({ read_from, read_to, seen_at }: QuarantinedPull): Span => ({
  startMs: read_from ?? seen_at,
  endMs: read_to ?? seen_at,
})

/** The days are due again; what they need to settle, the readings to come say. */
async function uncoverUnits(tx: Tx, suspicious: ReadonlyMap<AdmittedReading, readonly Span[]>): Promise<void> {
  const days = [...suspicious].flatMap(([reading, spans]) => spans.map((span) => ({ reading, span })))
  if (days.length === 0) return
  await tx.query(
    `update vitalsync.ledger l set covered = l.covered - i.days
     from (select profile_id, stream, range_agg(tstzrange(to_timestamp(start_ms / 1000), to_timestamp(end_ms / 1000))) as days
       from unnest($1::int8[], $2::text[], $3::float8[], $4::float8[]) as u(profile_id, stream, start_ms, end_ms) group by 1, 2) i
     where l.profile_id = i.profile_id and l.stream = i.stream and l.profile_id = any($1)`,
    [
      days.map(({ reading }) => reading.profileId),
      days.map(({ reading }) => reading.stream.name),
      days.map(({ span }) => span.startMs),
      days.map(({ span }) => span.endMs),
    ],
  )
}

/** The newest form of each key. It is not younger than a reading that is on its way, so that whatever that one says comes later. */
function readingOf(stream: PulledStream, entries: readonly Fitting[], nowMs: number): AdmittedReading {
  const rows = [...new Map(entries.toReversed().map(({ row }) => [row.key, row])).values()]
  const spans = entries.map(({ pull }) => readSpanOf(pull))
  const window = {
    startMs: Math.min(...spans.map(({ startMs }) => startMs)),
    endMs: Math.max(...spans.map(({ endMs }) => endMs)),
  }
  const sentAtMs = Math.max(nowMs - READING_AGE_MAX_MS, Math.min(...entries.map(({ pull }) => pull.seen_at)) - 1)
  return {
    ...{ profileId: entries[0]?.pull.profile_id ?? '', stream, window, rows, invalid: [], drift: NO_DRIFT },
    ...{ generation: 0, sentAtMs, serverAtMs: undefined, word: 'pending', tag: undefined, unchanged: false },
    ...{ kind: 'admitted', newer: [], recent: [], complete: false, mayCover: false, isPartial: true, believed: true },
    ...{ reachBackToMs: window.startMs, heldByNewer: [], edges: { crossingHashes: [], reachesBack: false } },
  }
}
