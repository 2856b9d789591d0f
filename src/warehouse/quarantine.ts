import type { PulledStream } from '../stream.ts'
import { type Pool, type Tx, transaction } from './pool.ts'
import { toRows } from './rows.ts'

export type Quarantined = {
  id: string
  externalId: string
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
}

export type Replayed = { pushed: number; reread: number }

export type Quarantine = {
  list(filter: QuarantineFilter, limit: number): Promise<Quarantined[]>
  show(id: string): Promise<(Quarantined & { body: string }) | undefined>
  /**
   * Gives them another chance and takes them out. What was to be pushed waits again; of what was pulled the time it
   * speaks of becomes due again, or the window it was read in, so that upstream is asked anew. What still does not fit
   * comes back with its reason.
   */
  replay(filter: QuarantineFilter): Promise<Replayed>
}

const columns = `q.id, p.external_id as "externalId", q.stream, q.direction, q.path, q.reason, q.times,
  q.first_seen_at as "firstSeenAt", q.last_seen_at as "lastSeenAt"`
const where = `($1::int8[] is null or q.id = any($1)) and ($2::text is null or q.stream = $2)
  and ($3::text is null or q.direction = $3) and ($4::text is null or p.external_id = $4)`
const from = 'from vitalsync.quarantine q join vitalsync.profiles p on p.id = q.profile_id'

const valuesOf = ({ ids, stream, direction, profile }: QuarantineFilter) => [
  ids ?? null,
  stream ?? null,
  direction ?? null,
  profile ?? null,
]

const REPLAYED_AT_ONCE = 500

export function openQuarantine(options: { pool: Pool; streams: readonly PulledStream[] }): Quarantine {
  const { pool, streams } = options
  return {
    async list(filter, limit) {
      const text = `select ${columns} ${from} where ${where} order by q.last_seen_at desc, q.id limit $5`
      return (await pool.query(text, [...valuesOf(filter), limit])).rows
    },
    async show(id) {
      return (await pool.query(`select ${columns}, q.body ${from} where q.id = $1`, [id])).rows[0]
    },
    async replay(filter) {
      const replayed: Replayed = { pushed: 0, reread: 0 }
      for (;;) {
        const page = await transaction(pool, (tx) => replayPage(tx, streams, filter))
        replayed.pushed += page.pushed
        replayed.reread += page.reread
        if (page.pushed + page.reread < REPLAYED_AT_ONCE) return replayed
      }
    },
  }
}

type Row = {
  id: string
  profile_id: string
  stream: string
  direction: 'push' | 'pull'
  body: string
  read_from: number | null
  read_to: number | null
}

async function replayPage(tx: Tx, streams: readonly PulledStream[], filter: QuarantineFilter): Promise<Replayed> {
  const { rows } = await tx.query<Row>(
    `select q.id, q.profile_id, q.stream, q.direction, q.body,
       (extract(epoch from lower(q.span)) * 1000)::float8 as read_from,
       (extract(epoch from upper(q.span)) * 1000)::float8 as read_to
     ${from} where ${where}
     order by q.profile_id, q.id limit ${REPLAYED_AT_ONCE} for update of q`,
    valuesOf(filter),
  )
  const pushed = rows.filter((row) => row.direction === 'push')
  // Imports of the same people wait for this: of each item one form waits at most.
  await tx.query('select from vitalsync.profiles where id = any($1) order by id for no key update', [
    pushed.map((row) => row.profile_id),
  ])
  await waitAgain(
    tx,
    pushed.map((row) => row.id),
  )
  const pulled = rows.filter((row) => row.direction === 'pull')
  for (const row of pulled) await makeDue(tx, row, spanOf(streams, row) ?? windowOf(row))
  await tx.query('delete from vitalsync.quarantine where id = any($1)', [rows.map((row) => row.id)])
  await tx.query('update vitalsync.profiles set due_at = clock_timestamp() where id = any($1)', [
    rows.map((row) => row.profile_id),
  ])
  return { pushed: pushed.length, reread: pulled.length }
}

/** Each becomes a parcel of its own, unless the item came in anew meanwhile: then that form is the one that counts. */
async function waitAgain(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query(
    `with refused as materialized (
       select nextval(pg_get_serial_sequence('vitalsync.parcels', 'id')) as parcel_id, q.*
       from vitalsync.quarantine q where q.id = any($1) and q.start_at is not null
     ), meant as (
       update vitalsync.items i set parcel_id = r.parcel_id, place = 0 from refused r
       where i.profile_id = r.profile_id and i.stream = r.stream and i.digest = r.digest
         and not exists (select from vitalsync.parcels p where p.id = i.parcel_id and i.place <> all(p.taken_out))
       returning i.parcel_id
     )
     insert into vitalsync.parcels (id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)
     select parcel_id, profile_id, stream, mode, start_at, end_at, end_at, array[octet_length(body)], body
     from refused where parcel_id in (select parcel_id from meant)`,
    [ids],
  )
}

/** The time a record speaks of, where it can be told. */
function spanOf(streams: readonly PulledStream[], row: Row): { from: number; to: number } | undefined {
  const stream = streams.find(({ name }) => name === row.stream)
  if (!stream) return undefined
  try {
    const fields: unknown = JSON.parse(row.body)
    if (typeof fields !== 'object' || fields === null) return undefined
    const [read] = toRows(stream, [{ raw: row.body, fields: { ...fields } }]).rows
    if (read?.startMicros == null) return undefined
    return { from: read.startMicros / 1000, to: (read.endMicros ?? read.startMicros) / 1000 + 1 }
  } catch {
    return undefined // it is not even JSON
  }
}

/** The window it was last read in. Of what was set aside before windows were kept it is not known: then everything. */
const windowOf = ({ read_from: from, read_to: to }: Row) => (from === null || to === null ? undefined : { from, to })

async function makeDue(tx: Tx, row: Row, span: { from: number; to: number } | undefined): Promise<void> {
  await tx.query(
    `update vitalsync.ledger set generation = generation + 1, covered = covered -
       tstzmultirange(tstzrange(to_timestamp($3::float8 / 1000), to_timestamp($4::float8 / 1000)))
     where profile_id = $1 and stream = $2`,
    [row.profile_id, row.stream, span?.from ?? null, span?.to ?? null],
  )
}
