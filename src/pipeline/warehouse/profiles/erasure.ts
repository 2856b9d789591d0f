import { createHmac } from 'node:crypto'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'
import { deleteOrders } from '../runs/open-orders.ts'
import type { Keyring } from '../seals/keyring.ts'
import { readOrMakeTombstoneKey, readTombstoneKey } from '../seals/tombstone-key.ts'

export type RemovedRows = { readonly table: string; readonly rows: number }

/** All tables with rows of profiles, those of a newer version too, the ledger first. Orders are counted as they go, and the audit stays. */
const tablesQuery = `
  select quote_ident(c.relname) as "table" from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'profile_id'
  where c.relnamespace = 'vitalsync'::regnamespace and c.relkind = 'r' and c.relname not in ('orders', 'audit')
  order by c.relname <> 'ledger', c.relname`

/**
 * Removes every row of a profile and leaves a tombstone, by which an import of the same name is refused. The ledger goes
 * before the records: a reading in flight that finds no ledger row stores nothing.
 */
export async function eraseProfileRows(tx: Tx, profileId: string, keyring: Keyring): Promise<readonly RemovedRows[]> {
  const found = await tx.query<{ external_id: string }>(
    'select external_id from vitalsync.names where id = $1 for update',
    [profileId],
  )
  if (!found.rows[0]) return []
  await tx.query('select from vitalsync.profiles where id = $1 for update', [profileId])
  const digest = tombstoneDigest(await readOrMakeTombstoneKey(tx, keyring), found.rows[0].external_id)
  await tx.query(`insert into vitalsync.tombstones values ($1, statement_timestamp()) on conflict do nothing`, [digest])
  const removed = [{ table: 'orders', rows: await deleteOrders(tx, profileId) }]
  const { rows: tables } = await tx.query<{ table: string }>(tablesQuery)
  for (const { table } of tables) {
    const { rowCount } = await tx.query(`delete from vitalsync.${table} where profile_id = $1`, [profileId])
    removed.push({ table, rows: rowCount ?? 0 })
  }
  for (const table of ['profiles', 'names']) {
    const { rowCount } = await tx.query(`delete from vitalsync.${table} where id = $1`, [profileId])
    removed.push({ table, rows: rowCount ?? 0 })
  }
  return removed
}

/** The names of erased profiles among these. */
export async function erasedAmong(
  from: Pool | Tx,
  externalIds: readonly string[],
  keyring: Keyring,
): Promise<Set<string>> {
  const key = await readTombstoneKey(from, keyring)
  if (key === undefined) return new Set()
  const names = new Map(externalIds.map((externalId) => [tombstoneDigest(key, externalId).toString('hex'), externalId]))
  const { rows } = await from.query<{ digest: string }>(
    `select encode(digest, 'hex') as digest from vitalsync.tombstones
     where digest = any(select decode(x, 'hex') from unnest($1::text[]) x)`,
    [[...names.keys()]],
  )
  return new Set(rows.flatMap(({ digest }) => names.get(digest) ?? []))
}

const tombstoneDigest = (key: Buffer, externalId: string): Buffer =>
  createHmac('sha256', key).update(externalId).digest()
