import type { AcceptedCounts, OutboxItem } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { type Connection, namedSql, type Pool } from '../postgres/warehouse-pool.ts'
import { itemDigest } from './stored-parcels.ts'

type Rehearsal = {
  /** Counts what `Outbox.add`, or with `onlyMissing` what `Outbox.addMissing` would count, and stores nothing. */
  add(items: readonly OutboxItem[]): Promise<AcceptedCounts>
  close(): Promise<void>
}

type RehearsalOptions = { readonly pool: Pool; readonly onlyMissing: boolean }

/** Items that were added here are remembered in a temporary table, so memory stays flat however many there are. */
export async function openRehearsal({ pool, onlyMissing }: RehearsalOptions): Promise<Rehearsal> {
  const connection: Connection = await pool.connect()
  await connection.query(
    `create temporary table rehearsed_items
     (profile_id bigint, stream text, item_key text, digest bytea, primary key (profile_id, stream, item_key))`,
  )
  return {
    async add(items) {
      const latest = new Map(items.map((item) => [`${item.profileId} ${item.stream} ${item.itemKey}`, item]))
      const entries = [...latest.values()]
      const known = await findDigests(pool, entries)
      const { rows } = await connection.query<{ accepted: number }>(addQuery, [
        binaryColumn('int8', entries, ({ profileId }) => profileId),
        binaryColumn('text', entries, ({ stream }) => stream),
        binaryColumn('text', entries, ({ itemKey }) => itemKey),
        binaryColumn('bytea', entries, ({ body, mode }) => itemDigest(body, mode)),
        onlyMissing,
        binaryColumn('bytea', entries, (item) => known.get(item) ?? null),
      ])
      const accepted = rows[0]?.accepted ?? 0
      return { accepted, duplicate: items.length - accepted }
    },
    // The table goes with its connection.
    async close() {
      connection.release(true)
    },
  }
}

/** The stored forms of these items, as `itemDigest` gives them. The temporary table is on this side, the items may be on another. */
async function findDigests(pool: Pool, items: readonly OutboxItem[]): Promise<Map<OutboxItem, string>> {
  const digests = new Map<OutboxItem, string>()
  for (const part of pool.division.split(items, ({ profileId }) => profileId)) {
    const { rows } = await pool.query<{ n: number; digest: Buffer }>(
      `select i.n::int as n, m.digest
       from unnest($1::int8[], $2::text[], $3::text[]) with ordinality as i(profile_id, stream, item_key, n)
       cross join lateral (select digest from vitalsync.items m where m.profile_id = i.profile_id and m.stream = i.stream
         and m.item_key = i.item_key and ${namedSql(pool, 'm.profile_id', '$4')} offset 0) m`,
      [
        binaryColumn('int8', part, ({ profileId }) => profileId),
        binaryColumn('text', part, ({ stream }) => stream),
        binaryColumn('text', part, ({ itemKey }) => itemKey),
        [...new Set(part.map(({ profileId }) => profileId))],
      ],
    )
    for (const { n, digest } of rows) {
      const item = part[n - 1]
      if (item) digests.set(item, digest.toString('latin1'))
    }
  }
  return digests
}

const addQuery = `
  with input as materialized (
    select * from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[], $6::bytea[])
      as i(profile_id, stream, item_key, digest, known)
  ), changed as materialized (
    select i.profile_id, i.stream, i.item_key, i.digest from input i
    left join lateral (select digest from rehearsed_items r where r.profile_id = i.profile_id and r.stream = i.stream
      and r.item_key = i.item_key offset 0) r on true
    where case when $5 then coalesce(r.digest, i.known) is null
      else coalesce(r.digest, i.known) is distinct from i.digest end
  ), remembered as (
    insert into rehearsed_items select * from changed
    on conflict (profile_id, stream, item_key) do update set digest = excluded.digest
  )
  select count(*)::int as accepted from changed`
