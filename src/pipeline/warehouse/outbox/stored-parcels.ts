import { digestOf } from '../../../base/text/digest.ts'
import { cutBatches, type OutboxItem, type Parcel } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { namedSql, type Pool, type Tx } from '../postgres/warehouse-pool.ts'

/**
 * Eight characters of one byte each, by which an item that comes again is recognized. A replacement and an update of the
 * same text are different forms.
 */
export const itemDigest = (body: string, mode: OutboxItem['mode']): string =>
  digestOf(mode === 'put' ? `put ${body}` : body).toString('latin1')

/** The parcel of an item, and its index in the parcel. */
export type ParcelPlace = { readonly parcelId: string; readonly place: number }

type PackedItems<T> = { readonly entries: readonly T[]; readonly sizes: readonly number[] }

/** Packs the items of each profile and stream, ordered by their ends, into as few parcels as the limits of a request allow. */
export async function packParcels<T extends { readonly item: OutboxItem }>(
  tx: Tx,
  entries: readonly T[],
): Promise<Array<T & ParcelPlace>> {
  const groups = Map.groupBy(entries, ({ item }) => `${item.profileId} ${item.stream}`)
  const packed = [...groups.values()].flatMap((group): PackedItems<T>[] => {
    const sorted = group.toSorted((a, b) => a.item.endAtMs - b.item.endAtMs)
    const sizes = sorted.map(({ item }) => Buffer.byteLength(item.body))
    return cutBatches(sizes).map(({ from, to }) => ({ entries: sorted.slice(from, to), sizes: sizes.slice(from, to) }))
  })
  const ids = await storeParcels(tx, packed)
  return packed.flatMap((parcel, index) => {
    const parcelId = ids[index] ?? ''
    return parcel.entries.map((entry, place) => ({ ...entry, parcelId, place }))
  })
}

/** Inserts the parcels and returns their ids. */
async function storeParcels(tx: Tx, parcels: readonly PackedItems<{ readonly item: OutboxItem }>[]): Promise<string[]> {
  if (parcels.length === 0) return []
  const ids = await drawParcelIds(tx, parcels.length)
  await tx.query({
    name: 'store parcels',
    text: insertParcelsQuery,
    values: [binaryColumn('int8', ids, (id) => id), ...parcelColumns(parcels)],
  })
  return ids
}

export async function drawParcelIds(tx: Tx, count: number): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'draw parcel ids',
    text: `select nextval(pg_get_serial_sequence('vitalsync.parcels', 'id')) as id from generate_series(1, $1)`,
    values: [count],
  })
  return rows.map(({ id }) => id)
}

const insertParcelsQuery = `
  insert into vitalsync.parcels (id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)
  select id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes::int4[], body
  from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
    $8::text[], $9::text[])
    as i(id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)`

function parcelColumns(parcels: readonly PackedItems<{ readonly item: OutboxItem }>[]): Buffer[] {
  const first = ({ entries }: (typeof parcels)[number]) => entries[0]?.item
  const micros = (name: 'startAtMs' | 'endAtMs', pick: (...all: number[]) => number) =>
    binaryColumn('timestamptz', parcels, ({ entries }) => pick(...entries.map(({ item }) => item[name])) * 1000)
  return [
    binaryColumn('int8', parcels, (parcel) => first(parcel)?.profileId ?? null),
    binaryColumn('text', parcels, (parcel) => first(parcel)?.stream ?? null),
    binaryColumn('text', parcels, (parcel) => first(parcel)?.mode ?? 'patch'),
    micros('startAtMs', Math.min),
    micros('endAtMs', Math.min),
    micros('endAtMs', Math.max),
    binaryColumn('text', parcels, ({ sizes }) => `{${sizes.join(',')}}`),
    binaryColumn('text', parcels, ({ entries }) => entries.map(({ item }) => item.body).join(',')),
  ]
}

/** How much of one profile is read at a time. The parcel that crosses a limit is read whole. */
const ITEMS_READ_MAX = 900
const BYTES_READ_MAX = 1_500_000

export type WaitingQuery = { readonly profileId: string; readonly stream: string }
export type WaitingParcels = { readonly parcels: readonly Parcel[]; readonly more: boolean }

type ParcelRow = {
  /** The index of the query. */
  number: number
  id: string
  body: string
  bytes: number
  sizes: string
  taken_out: number[] | null
  waiting: number
  mode: Parcel['mode']
  start_ms: number
  end_ms: number
}

/** For each query: its oldest parcels first, and whether more parcels may wait. */
export async function readWaiting(pool: Pool, queries: readonly WaitingQuery[]): Promise<WaitingParcels[]> {
  const { rows } = await pool.query<ParcelRow>({
    name: 'read waiting',
    text: `select (w.number - 1)::int as number, id, body, octet_length(body) as bytes, array_to_string(sizes, ',') as sizes,
        case when taken_out <> '{}' then taken_out end as taken_out, waiting, mode,
        (extract(epoch from start_at) * 1000)::float8 as start_ms, (extract(epoch from last_end_at) * 1000)::float8 as end_ms
      from unnest($1::int8[], $2::text[]) with ordinality as w(profile_id, stream, number)
      cross join lateral (
        select *, sum(waiting) over before as items_before, sum(octet_length(body)) over before as bytes_before
        from (select * from vitalsync.parcels x
          where x.profile_id = w.profile_id and x.stream = w.stream and ${namedSql(pool, 'x.profile_id', '$1')}
          order by first_end_at, id limit $3) x
        window before as (order by first_end_at, id rows between unbounded preceding and 1 preceding)
      ) p
      where coalesce(items_before, 0) < $3 and coalesce(bytes_before, 0) < $4 order by w.number, first_end_at, id`,
    values: [
      binaryColumn('int8', queries, ({ profileId }) => profileId),
      binaryColumn('text', queries, ({ stream }) => stream),
      ITEMS_READ_MAX,
      BYTES_READ_MAX,
    ],
  })
  const found = queries.map((): Parcel[] => [])
  for (const row of rows) found[row.number]?.push(toParcel(row))
  return found.map((parcels) => ({ parcels, more: isFull(parcels) }))
}

const toParcel = (row: ParcelRow): Parcel => ({
  id: row.id,
  body: row.body,
  bytes: row.bytes,
  sizes: row.sizes,
  takenOut: row.taken_out ?? [],
  waiting: row.waiting,
  mode: row.mode,
  startAtMs: row.start_ms,
  endAtMs: row.end_ms,
})

function isFull(parcels: readonly Parcel[]): boolean {
  const items = parcels.reduce((sum, { waiting }) => sum + waiting, 0)
  const bytes = parcels.reduce((sum, parcel) => sum + parcel.bytes, 0)
  return items >= ITEMS_READ_MAX || bytes >= BYTES_READ_MAX
}

export type PlaceOfProfile = ParcelPlace & { readonly profileId: string }

/** Takes items out of their parcels. A parcel in which no item waits is deleted. */
export async function takeItemsOut(tx: Tx, places: readonly PlaceOfProfile[]): Promise<void> {
  if (places.length === 0) return
  const profileIds = places.map(({ profileId }) => profileId)
  const parcelIds = places.map(({ parcelId }) => parcelId)
  // The profile comes first in the key: by the parcel's id alone the whole index would be read for each parcel.
  await tx.query(
    `update vitalsync.parcels p set taken_out = array(select unnest(p.taken_out) union select unnest(o.places))
     from (select profile_id, parcel_id, array_agg(place) as places
           from unnest($1::int8[], $2::int8[], $3::int4[]) as i(profile_id, parcel_id, place) group by profile_id, parcel_id) o
     where p.profile_id = o.profile_id and p.id = o.parcel_id and ${namedSql(tx, 'p.profile_id', '$1')}`,
    [profileIds, parcelIds, places.map(({ place }) => place)],
  )
  await tx.query(
    `delete from vitalsync.parcels p using unnest($1::int8[], $2::int8[]) as o(profile_id, parcel_id)
     where p.profile_id = o.profile_id and p.id = o.parcel_id and p.waiting <= 0 and ${namedSql(tx, 'p.profile_id', '$1')}`,
    [profileIds, parcelIds],
  )
}
