import type { Span } from '../../../base/time/spans.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { lockLedgerRows, profileStreamKey } from '../ledger/ledger-rows.ts'
import { drawParcelIds } from '../outbox/stored-parcels.ts'
import { isDataException } from '../postgres/sql-errors.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import { type Pool, type Tx, transaction } from '../postgres/warehouse-pool.ts'
import type { ReadingExaminer } from '../readings/reading-drift.ts'
import { toRecordRows } from '../readings/record-rows.ts'
import { type QuarantinedPull, storeFitting } from './store-fitting.ts'

type QuarantinedRecord = {
  id: string
  /** Our own id of the person. */
  profileId: string
  externalId: string
  /** As QuarantineFilter takes it. */
  cause: string
  stream: string
  direction: 'push' | 'pull'
  path: string
  reason: string
  times: number
  firstSeenAt: Date
  lastSeenAt: Date
}

export type QuarantineFilter = {
  readonly ids?: readonly string[] | undefined
  readonly stream?: string | undefined
  readonly direction?: string | undefined
  readonly profile?: string | undefined
  /** All of one cause: `quarantineCauseSql` of way, stream, place and reason. */
  readonly cause?: string | undefined
  /** Only records that were quarantined before this one. */
  readonly beforeId?: string | undefined
}

/** Names a cause of quarantined records in a few letters, whatever upstream writes into a reason. */
export const quarantineCauseSql = (row: string) =>
  `md5(${row}.direction || ' ' || ${row}.stream || ' ' || ${row}.path || ' ' || ${row}.reason)`

type ReplayedCounts = { pushed: number; stored: number; reread: number }

const quarantineColumns = `q.id, p.id as "profileId", p.external_id as "externalId", ${quarantineCauseSql('q')} as cause, q.stream, q.direction, q.path, q.reason, q.times,
  q.first_seen_at as "firstSeenAt", q.last_seen_at as "lastSeenAt"`
const where = `($1::int8[] is null or q.id = any($1)) and ($2::text is null or q.stream = $2)
  and ($3::text is null or q.direction = $3) and ($4::text is null or p.external_id = $4)
  and ($5::text is null or ${quarantineCauseSql('q')} = $5) and ($6::int8 is null or q.id < $6)`
const from = 'from vitalsync.quarantine q join vitalsync.profiles p on p.id = q.profile_id'

const valuesOf = ({ ids, stream, direction, profile, cause, beforeId }: QuarantineFilter) => [
  ids ?? null,
  stream ?? null,
  direction ?? null,
  profile ?? null,
  cause ?? null,
  beforeId ?? null,
]

const ROWS_AT_ONCE = 500

type QuarantineOptions = {
  readonly pool: Pool
  readonly streams: readonly PulledStream[]
  /** Called by a replay, for the comparison of the records that it stores. */
  openExaminer(): Promise<ReadingExaminer>
}

export function createQuarantine(options: QuarantineOptions) {
  const { pool, streams } = options
  return {
    async list(filter: QuarantineFilter, limit: number) {
      const { rows } = await pool.query<QuarantinedRecord>(
        `select ${quarantineColumns} ${from} where ${where} order by q.last_seen_at desc, q.id limit $7`,
        [...valuesOf(filter), limit],
      )
      return rows
    },
    /** The newest by their numbers; `beforeId` continues. */
    async listPage(filter: QuarantineFilter, limit: number) {
      const { rows } = await pool.query<QuarantinedRecord>(
        `select ${quarantineColumns} ${from} where ${where} order by q.id desc limit $7`,
        [...valuesOf(filter), limit],
      )
      return rows
    },
    async show(id: string) {
      const { rows } = await pool.query<QuarantinedRecord & { body: string }>(
        `select ${quarantineColumns}, q.body ${from} where q.id = $1`,
        [id],
      )
      return rows[0]
    },
    /**
     * Takes records and items out of the quarantine for another try. An item waits again to be pushed. A record that fits by the present
     * rules is stored. For another its own period becomes due again, or the window in which it was read, so that upstream is asked
     * again. A record or item that still does not fit comes back with its reason.
     */
    async replay(filter: QuarantineFilter) {
      const replayed: ReplayedCounts = { pushed: 0, stored: 0, reread: 0 }
      const examiner = await options.openExaminer()
      for await (const chosen of takeChosen(pool, filter)) {
        const { pushed, stored, reread } = await transaction(pool, (tx) =>
          replayRows(tx, { streams, examiner }, chosen),
        )
        replayed.pushed += pushed
        replayed.stored += stored
        replayed.reread += reread
      }
      return replayed
    },
    /** Forgets records and items, and returns how many. An item is not pushed; a record that upstream sends again comes back. */
    async discard(filter: QuarantineFilter) {
      let discarded = 0
      for await (const chosen of takeChosen(pool, filter)) discarded += await deleteRows(pool, chosen)
      return discarded
    },
  }
}

/** The chosen rows in parts that one statement may change. The caller deletes each part before it asks for the next. */
async function* takeChosen(pool: Pool, filter: QuarantineFilter): AsyncGenerator<ChosenRow[]> {
  for (;;) {
    const { rows } = await pool.query<ChosenRow>(
      `select q.id, q.profile_id as "profileId", q.stream ${from} where ${where} order by q.profile_id, q.id limit ${ROWS_AT_ONCE}`,
      valuesOf(filter),
    )
    yield* pool.division.split(rows, ({ profileId }) => profileId)
    if (rows.length < ROWS_AT_ONCE) return
  }
}

async function deleteRows(db: Pool | Tx, chosen: readonly ChosenRow[]): Promise<number> {
  const { rowCount } = await db.query('delete from vitalsync.quarantine where id = any($1) and profile_id = any($2)', [
    chosen.map(({ id }) => id),
    profileIdsOf(chosen),
  ])
  return rowCount ?? 0
}

const profileIdsOf = (chosen: readonly ChosenRow[]) => [...new Set(chosen.map(({ profileId }) => profileId))]

type QuarantineRow = QuarantinedPull & { readonly direction: 'push' | 'pull'; readonly now_ms: number }

type ChosenRow = { readonly id: string; readonly profileId: string; readonly stream: string }

/** The ledger is locked before the quarantine, as a reading locks them. */
async function replayRows(
  tx: Tx,
  { streams, examiner }: { readonly streams: readonly PulledStream[]; readonly examiner: ReadingExaminer },
  chosen: readonly ChosenRow[],
): Promise<ReplayedCounts> {
  const profileIds = profileIdsOf(chosen)
  const ledger = await lockLedger(tx, streams, chosen)
  const { rows } = await tx.query<QuarantineRow>(
    `select q.id, q.profile_id, q.stream, q.direction, q.body,
       ${epochMsSql('lower(q.span)')} as read_from, ${epochMsSql('upper(q.span)')} as read_to,
       ${epochMsSql('q.last_seen_at')} as seen_at, ${epochMsSql('statement_timestamp()')} as now_ms
     from vitalsync.quarantine q where q.id = any($1) and q.profile_id = any($2)
     order by q.profile_id, q.id for update of q`,
    [chosen.map(({ id }) => id), profileIds],
  )
  const { push = [], pull = [] } = Object.groupBy(rows, ({ direction }) => direction)
  if (push.length > 0) await returnToOutbox(tx, push)
  await tx.query('savepoint fitting')
  const fitting = { streams, examiner, ledger, nowMs: rows[0]?.now_ms ?? 0 }
  const stored = await storeFitting(tx, pull, fitting).catch(async (error: unknown) => {
    if (!isDataException(error)) throw error
    await tx.query('rollback to savepoint fitting')
    return new Set<string>() // Postgres still refuses one of them: upstream is asked, and the writer finds which
  })
  const asked = pull.filter(({ id }) => !stored.has(id))
  await uncoverSpans(
    tx,
    asked.map((row) => ({ row, span: recordSpanOf(streams, row) ?? readWindowOf(row) })),
  )
  await deleteRows(tx, chosen)
  await tx.query('update vitalsync.profiles set due_at = statement_timestamp() where id = any($1)', [profileIds])
  return { pushed: push.length, stored: stored.size, reread: asked.length }
}

async function lockLedger(tx: Tx, streams: readonly PulledStream[], chosen: readonly ChosenRow[]) {
  const named = chosen.flatMap(({ profileId, stream: name }) => {
    const stream = streams.find((known) => known.name === name)
    return stream ? { profileId, stream, window: NO_WINDOW } : []
  })
  const once = new Map(named.map((row) => [profileStreamKey(row), row]))
  return lockLedgerRows(tx, [...once.values()], '')
}

/** The covered spans of the rows are not needed. */
const NO_WINDOW: Span = { startMs: 0, endMs: 0 }

/**
 * Each item becomes a parcel of its own, unless the item came in again meanwhile: then the newer form counts. Imports into
 * the same profiles wait for the lock, so that at most one form of an item waits.
 */
async function returnToOutbox(tx: Tx, items: readonly QuarantineRow[]): Promise<void> {
  const profileIds = [...new Set(items.map((row) => row.profile_id))]
  await tx.query('select from vitalsync.profiles where id = any($1) order by id for no key update', [profileIds])
  const parcelIds = await drawParcelIds(tx, items.length)
  const { rows: meant } = await tx.query<{ parcel_id: string }>(
    `update vitalsync.items i set parcel_id = r.parcel_id, place = 0
     from vitalsync.quarantine q
     join unnest($2::int8[], $3::int8[]) as r(id, parcel_id) on r.id = q.id
     where q.profile_id = any($1) and q.start_at is not null
       and i.profile_id = q.profile_id and i.profile_id = any($1) and i.stream = q.stream and i.digest = q.digest
       and not exists (select from vitalsync.parcels p
         where p.id = i.parcel_id and p.profile_id = any($1) and i.place <> all(p.taken_out))
     returning i.parcel_id`,
    [profileIds, items.map(({ id }) => id), parcelIds],
  )
  const isMeant = new Set(meant.map((row) => row.parcel_id))
  const returned = items.flatMap(({ id }, index) => {
    const parcelId = parcelIds[index] ?? ''
    return isMeant.has(parcelId) ? [{ id, parcelId }] : []
  })
  await tx.query(
    `insert into vitalsync.parcels (id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)
     select r.parcel_id, q.profile_id, q.stream, q.mode, q.start_at, q.end_at, q.end_at, array[octet_length(q.body)], q.body
     from vitalsync.quarantine q join unnest($2::int8[], $3::int8[]) as r(id, parcel_id) on r.id = q.id
     where q.profile_id = any($1)`,
    [profileIds, returned.map(({ id }) => id), returned.map(({ parcelId }) => parcelId)],
  )
}

/** The period of a record, where its fields hold it and it does not lie beyond the window in which it was read. */
function recordSpanOf(streams: readonly PulledStream[], row: QuarantineRow): Span | undefined {
  const stream = streams.find(({ name }) => name === row.stream)
  if (!stream) return undefined
  try {
    const fields: unknown = JSON.parse(row.body)
    if (typeof fields !== 'object' || fields === null) return undefined
    const latestStartMs = row.read_to ?? Number.POSITIVE_INFINITY
    const [record] = toRecordRows(stream, [{ raw: row.body, fields: { ...fields } }], latestStartMs).rows
    if (record?.startMicros == null) return undefined
    return { startMs: record.startMicros / 1000, endMs: (record.endMicros ?? record.startMicros) / 1000 + 1 }
  } catch {
    return undefined // the body is not JSON
  }
}

/** The window in which the record was last read. Rows of versions that stored no window have none. */
const readWindowOf = ({ read_from: startMs, read_to: endMs }: QuarantineRow): Span | undefined =>
  startMs === null || endMs === null ? undefined : { startMs, endMs }

/**
 * Makes the spans due again, and everything where the span is not known. They are read until upstream says that it has derived,
 * or two readings agree, as the days near a silent difference are.
 */
async function uncoverSpans(
  tx: Tx,
  records: ReadonlyArray<{ readonly row: QuarantineRow; readonly span: Span | undefined }>,
): Promise<void> {
  if (records.length === 0) return
  await tx.query(
    `with input as (
       select profile_id, stream, range_agg(
         tstzrange(to_timestamp(start_ms / 1000), to_timestamp(end_ms / 1000))) as spans
       from unnest($1::int8[], $2::text[], $3::float8[], $4::float8[]) as i(profile_id, stream, start_ms, end_ms)
       group by profile_id, stream
     ), locked as (
       select l.profile_id, l.stream, i.spans, i.spans * tstzmultirange(tstzrange(p.wanted_from, statement_timestamp()))
         - l.digesting - (select coalesce(range_agg(tstzrange(to_timestamp((r ->> 0)::float8 / 1000),
           to_timestamp((r ->> 1)::float8 / 1000))), '{}') from jsonb_array_elements(l.rereads) r) as suspect
       from vitalsync.ledger l join input i using (profile_id, stream)
       join vitalsync.profiles p on p.id = l.profile_id
       where l.profile_id = any($1) and p.id = any($1)
       order by l.profile_id, l.stream for update of l
     )
     update vitalsync.ledger l set generation = l.generation + 1, covered = l.covered - k.spans, tagged = false,
       digested_at = greatest(l.digested_at, statement_timestamp()),
       rereads = l.rereads || (select coalesce(jsonb_agg(jsonb_build_array(${epochMsSql('lower(s)')}, ${epochMsSql('upper(s)')},
         ${epochMsSql('statement_timestamp()')}, null, 0, 1)), '[]') from unnest(k.suspect) s)
     from locked k where l.profile_id = k.profile_id and l.stream = k.stream and l.profile_id = any($1)`,
    [
      records.map(({ row }) => row.profile_id),
      records.map(({ row }) => row.stream),
      records.map(({ span }) => span?.startMs ?? null),
      records.map(({ span }) => span?.endMs ?? null),
    ],
  )
}
