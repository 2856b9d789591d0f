import type { AcceptedCounts, OutboxItem } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import { itemDigest } from './stored-parcels.ts'

type Rehearsal = {
  /** Counts what `Outbox.add`, or with `onlyMissing` what `Outbox.addMissing` would count, and stores nothing. */
  add(items: readonly OutboxItem[]): Promise<AcceptedCounts>
  close(): Promise<void>
}

type RehearsalOptions = { readonly pool: Pool; readonly onlyMissing: boolean }

/** Items that were added here are remembered in a temporary table, so memory stays flat however many there are. */
export async function openRehearsal({ pool, onlyMissing }: RehearsalOptions): Promise<Rehearsal> {
  const tx: Tx = await pool.connect()
  // A connection that dies emits an error, which would end the process without a listener; the next statement tells it.
  tx.on('error', () => undefined)
  await tx.query(
    `create temporary table rehearsed_items
     (profile_id bigint, stream text, item_key text, digest bytea, primary key (profile_id, stream, item_key))`,
  )
  return {
    async add(items) {
      const latest = new Map(items.map((item) => [`${item.profileId} ${item.stream} ${item.itemKey}`, item]))
      const entries = [...latest.values()]
      const { rows } = await tx.query<{ accepted: number }>(addQuery, [
        binaryColumn('int8', entries, ({ profileId }) => profileId),
        binaryColumn('text', entries, ({ stream }) => stream),
        binaryColumn('text', entries, ({ itemKey }) => itemKey),
        binaryColumn('bytea', entries, ({ body, mode }) => itemDigest(body, mode)),
        onlyMissing,
      ])
      const accepted = rows[0]?.accepted ?? 0
      return { accepted, duplicate: items.length - accepted }
    },
    // The table goes with its connection.
    async close() {
      tx.release(true)
    },
  }
}

const addQuery = `
  with input as materialized (
    select * from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[]) as i(profile_id, stream, item_key, digest)
  ), changed as materialized (
    select i.* from input i
    left join lateral (select digest from rehearsed_items r where r.profile_id = i.profile_id and r.stream = i.stream
      and r.item_key = i.item_key offset 0) r on true
    left join lateral (select digest from vitalsync.items m where m.profile_id = i.profile_id and m.stream = i.stream
      and m.item_key = i.item_key offset 0) m on true
    where case when $5 then coalesce(r.digest, m.digest) is null
      else coalesce(r.digest, m.digest) is distinct from i.digest end
  ), remembered as (
    insert into rehearsed_items select * from changed
    on conflict (profile_id, stream, item_key) do update set digest = excluded.digest
  )
  select count(*)::int as accepted from changed`
