import { cutBatches, type Parcel } from '../parcel.ts'
import { binaryColumn } from './binary-arrays.ts'
import type { OutboxItem, PushedStream } from './outbox.ts'
import type { Pool, Tx } from './pool.ts'
import { digestOf } from './rows.ts'

/** Eight characters of one byte each, by which an item that comes again is known. To replace everything is another wish than to change what is named. */
export const digestOfItem = (body: string, mode: OutboxItem['mode']): string =>
  digestOf(mode === 'put' ? `put ${body}` : body).toString('latin1')

/** Where an item lies. */
export type Place = { readonly parcelId: string; readonly place: number }

type Packing<T> = { readonly entries: readonly T[]; readonly sizes: readonly number[] }

/** Puts what one person and stream has into as few parcels as requests will take it, by its ends. */
export async function packParcels<T extends { readonly item: OutboxItem }>(
  tx: Tx,
  entries: readonly T[],
): Promise<Array<T & Place>> {
  const groups = Map.groupBy(entries, ({ item }) => `${item.profileId} ${item.stream} ${item.mode ?? 'patch'}`)
  const packed = [...groups.values()].flatMap((group): Packing<T>[] => {
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

async function storeParcels(tx: Tx, parcels: readonly Packing<{ readonly item: OutboxItem }>[]): Promise<string[]> {
  if (parcels.length === 0) return []
  const { rows } = await tx.query<{ id: string }>(
    `select nextval(pg_get_serial_sequence('vitalsync.parcels', 'id')) as id from generate_series(1, $1)`,
    [parcels.length],
  )
  const first = ({ entries }: (typeof parcels)[number]) => entries[0]?.item
  const micros = (name: 'startAtMs' | 'endAtMs', pick: (...all: number[]) => number) =>
    binaryColumn('timestamptz', parcels, ({ entries }) => pick(...entries.map(({ item }) => item[name])) * 1000)
  await tx.query({
    name: 'store parcels',
    text: `insert into vitalsync.parcels (id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)
      select id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes::int4[], body
      from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
        $8::text[], $9::text[])
        as i(id, profile_id, stream, mode, start_at, first_end_at, last_end_at, sizes, body)`,
    values: [
      binaryColumn('int8', rows, ({ id }) => id),
      binaryColumn('int8', parcels, (parcel) => first(parcel)?.profileId ?? null),
      binaryColumn('text', parcels, (parcel) => first(parcel)?.stream ?? null),
      binaryColumn('text', parcels, (parcel) => first(parcel)?.mode ?? 'patch'),
      micros('startAtMs', Math.min),
      micros('endAtMs', Math.min),
      micros('endAtMs', Math.max),
      binaryColumn('text', parcels, ({ sizes }) => `{${sizes.join(',')}}`),
      binaryColumn('text', parcels, ({ entries }) => entries.map(({ item }) => item.body).join(',')),
    ],
  })
  return rows.map(({ id }) => id)
}

/** How much of one person is in memory at a time: a parcel that begins below both bounds is taken along. */
const ITEMS_AT_ONCE = 900
const BYTES_AT_ONCE = 1_500_000

export type Wanted = { readonly profileId: string; readonly stream: PushedStream }
export type Waiting = { readonly parcels: readonly Parcel[]; readonly more: boolean }

/** For each that is asked for: oldest first, and whether there may be more. */
export async function readWaiting(pool: Pool, wanted: readonly Wanted[]): Promise<Waiting[]> {
  const { rows } = await pool.query({
    name: 'read waiting',
    text: `select (w.number - 1)::int as number, id, body, octet_length(body) as bytes, array_to_string(sizes, ',') as sizes,
        case when taken_out <> '{}' then taken_out end as taken_out, waiting, mode,
        (extract(epoch from start_at) * 1000)::float8 as start_ms, (extract(epoch from last_end_at) * 1000)::float8 as end_ms
      from unnest($1::int8[], $2::text[]) with ordinality as w(profile_id, stream, number)
      cross join lateral (
        select *, sum(waiting) over before as items_before, sum(octet_length(body)) over before as bytes_before
        from (select * from vitalsync.parcels x where x.profile_id = w.profile_id and x.stream = w.stream
          order by first_end_at, id limit $3) x
        window before as (order by first_end_at, id rows between unbounded preceding and 1 preceding)
      ) p
      where coalesce(items_before, 0) < $3 and coalesce(bytes_before, 0) < $4 order by w.number, first_end_at, id`,
    values: [
      binaryColumn('int8', wanted, ({ profileId }) => profileId),
      binaryColumn('text', wanted, ({ stream }) => stream),
      ITEMS_AT_ONCE,
      BYTES_AT_ONCE,
    ],
  })
  const found = wanted.map((): Parcel[] => [])
  for (const row of rows) {
    found[row.number]?.push({
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
  }
  return found.map((parcels) => ({ parcels, more: isFull(parcels) }))
}

function isFull(parcels: readonly Parcel[]): boolean {
  const items = parcels.reduce((sum, { waiting }) => sum + waiting, 0)
  const bytes = parcels.reduce((sum, parcel) => sum + parcel.bytes, 0)
  return items >= ITEMS_AT_ONCE || bytes >= BYTES_AT_ONCE
}

/** These items do not wait in their parcels any more; a parcel in which nothing waits is gone. */
export async function takeOut(tx: Tx, places: readonly Place[]): Promise<void> {
  if (places.length === 0) return
  const ids = places.map(({ parcelId }) => parcelId)
  await tx.query(
    `update vitalsync.parcels p set taken_out = array(select unnest(p.taken_out) union select unnest(o.places))
     from (select parcel_id, array_agg(place) as places from unnest($1::int8[], $2::int4[]) as i(parcel_id, place)
           group by parcel_id) o
     where p.id = o.parcel_id`,
    [ids, places.map(({ place }) => place)],
  )
  await tx.query('delete from vitalsync.parcels where id = any($1::int8[]) and waiting <= 0', [ids])
}
