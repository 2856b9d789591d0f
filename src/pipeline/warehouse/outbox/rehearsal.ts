import type { OutboxItem } from '../../transfer/parcel.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { type Connection, namedSql, type Pool } from '../postgres/warehouse-pool.ts'
import { isOlderForm } from './add-items.ts'
import { itemDigest } from './stored-parcels.ts'

/** Items that were added here are remembered in a temporary table, so memory stays flat however many there are. */
export async function openRehearsal({ pool, onlyMissing }: { readonly pool: Pool; readonly onlyMissing: boolean }) {
  const connection: Connection = await pool.connect()
  await connection.query(
    `create temporary table rehearsed_items
     (profile_id bigint, stream text, item_key text, digest bytea, modified_ms bigint, primary key (profile_id, stream, item_key))`,
  )
  return {
    /** Counts what `Outbox.add`, or with `onlyMissing` what `Outbox.addMissing` would count, and stores nothing. */
    async add(items: readonly OutboxItem[]) {
      const latest = new Map<string, OutboxItem>()
      for (const item of items) {
        const key = `${item.profileId} ${item.stream} ${item.itemKey}`
        if (!isOlderForm(item, latest.get(key)?.modifiedMs)) latest.set(key, item)
      }
      const entries = [...latest.values()]
      const known = await findForms(pool, entries)
      const { rows } = await connection.query<{ accepted: number }>(addQuery, [
        binaryColumn('int8', entries, ({ profileId }) => profileId),
        binaryColumn('text', entries, ({ stream }) => stream),
        binaryColumn('text', entries, ({ itemKey }) => itemKey),
        binaryColumn('bytea', entries, ({ body, mode }) => itemDigest(body, mode)),
        onlyMissing,
        binaryColumn('bytea', entries, (item) => known.get(item)?.digest ?? null),
        binaryColumn('int8', entries, ({ modifiedMs }) => modifiedMs ?? null),
        binaryColumn('int8', entries, (item) => known.get(item)?.modifiedMs ?? null),
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

type StoredForm = { readonly digest: string; readonly modifiedMs: number | null }

/** The stored forms of these items, their digests as `itemDigest` gives them. The temporary table is on this side, the items may be on another. */
async function findForms(pool: Pool, items: readonly OutboxItem[]): Promise<Map<OutboxItem, StoredForm>> {
  const forms = new Map<OutboxItem, StoredForm>()
  for (const part of pool.division.split(items, ({ profileId }) => profileId)) {
    const { rows } = await pool.query<{ n: number; digest: Buffer; modifiedMs: number | null }>(
      `select i.n::int as n, m.digest, m.modified_ms::float8 as "modifiedMs"
       from unnest($1::int8[], $2::text[], $3::text[]) with ordinality as i(profile_id, stream, item_key, n)
       cross join lateral (select digest, modified_ms from vitalsync.items m where m.profile_id = i.profile_id and m.stream = i.stream
         and m.item_key = i.item_key and ${namedSql(pool, 'm.profile_id', '$4')} offset 0) m`,
      [
        binaryColumn('int8', part, ({ profileId }) => profileId),
        binaryColumn('text', part, ({ stream }) => stream),
        binaryColumn('text', part, ({ itemKey }) => itemKey),
        [...new Set(part.map(({ profileId }) => profileId))],
      ],
    )
    for (const { n, digest, modifiedMs } of rows) {
      const item = part[n - 1]
      if (item) forms.set(item, { digest: digest.toString('latin1'), modifiedMs })
    }
  }
  return forms
}

const addQuery = `
  with input as materialized (
    select * from unnest($1::int8[], $2::text[], $3::text[], $4::bytea[], $6::bytea[], $7::int8[], $8::int8[])
      as i(profile_id, stream, item_key, digest, known, modified_ms, known_ms)
  ), changed as materialized (
    select i.profile_id, i.stream, i.item_key, i.digest, i.modified_ms from input i
    left join lateral (select digest, modified_ms from rehearsed_items r where r.profile_id = i.profile_id
      and r.stream = i.stream and r.item_key = i.item_key offset 0) r on true
    where case when $5 then coalesce(r.digest, i.known) is null
      else coalesce(r.digest, i.known) is distinct from i.digest
        and not coalesce(case when r.digest is null then i.known_ms else r.modified_ms end > i.modified_ms, false) end
  ), remembered as (
    insert into rehearsed_items select * from changed
    on conflict (profile_id, stream, item_key)
      do update set digest = excluded.digest, modified_ms = excluded.modified_ms
  )
  select count(*)::int as accepted from changed`
