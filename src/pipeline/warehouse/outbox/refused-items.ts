import type { PushedParcels, RefusedItem } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'
import { itemDigest, takeItemsOut } from './stored-parcels.ts'

/**
 * Moves refused items from their parcels to the quarantine. An item that does not wait in its parcel any more was replaced
 * while its former text was on its way: the former text is dropped, and upstream will judge the new text.
 */
export async function quarantineRefusedItems(
  tx: Tx,
  push: PushedParcels,
  items: readonly RefusedItem[],
): Promise<void> {
  const { rows } = await tx.query<{ id: string; taken_out: number[] }>(
    'select id, taken_out from vitalsync.parcels where id = any($1::int8[]) and profile_id = $2 order by id for update',
    [push.parcels.map(({ id }) => id), push.profileId],
  )
  const takenOutOf = new Map(rows.map((row) => [row.id, row.taken_out]))
  const refused = push.parcels.flatMap((parcel) =>
    items
      .filter(({ parcelId, place }) => parcelId === parcel.id && takenOutOf.get(parcelId)?.includes(place) === false)
      .map((item) => ({ ...item, parcel })),
  )
  if (refused.length === 0) return
  await tx.query(
    `insert into vitalsync.quarantine
       (profile_id, stream, direction, digest, path, reason, body, mode, start_at, end_at, first_seen_at, last_seen_at)
     select distinct on (digest) $1::int8, $2, 'push', digest, path, reason, body, mode,
       to_timestamp(start_ms / 1000), to_timestamp(end_ms / 1000), statement_timestamp(), statement_timestamp()
     from unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::float8[])
       as i(digest, path, reason, body, mode, start_ms, end_ms)
     on conflict (profile_id, stream, direction, digest) do update set times = quarantine.times + 1,
       last_seen_at = excluded.last_seen_at, reason = excluded.reason, mode = excluded.mode,
       start_at = excluded.start_at, end_at = excluded.end_at`,
    [
      push.profileId,
      push.stream,
      binaryColumn('bytea', refused, ({ body, parcel }) => itemDigest(body, parcel.mode)),
      refused.map(({ path }) => path),
      refused.map(({ reason }) => reason),
      refused.map(({ body }) => body),
      refused.map(({ parcel }) => parcel.mode),
      refused.map(({ parcel }) => parcel.startAtMs),
      refused.map(({ parcel }) => parcel.endAtMs),
    ],
  )
  await takeItemsOut(
    tx,
    refused.map(({ parcelId, place }) => ({ profileId: push.profileId, parcelId, place })),
  )
}
