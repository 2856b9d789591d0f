import { UsageProblem } from '../../../base/errors.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'

/**
 * Tables with a column for the profile that stay whole on the coordinator all the same: producers and workers of all shards
 * share them, and they hold rows of nobody too (tokens of the account, the audit of settings).
 */
const wholeTables: readonly string[] = ['orders', 'tokens', 'audit']

/** Small tables that are joined with the profiles of every shard: each node has a copy. */
const copiedTables: readonly string[] = [
  'calendar',
  'day_streams',
  'settle_times',
  'false_tags',
  'drift',
  'drift_fields',
  'wear_measures',
]

/**
 * Tables whose rows go with their profile. A foreign key can refer to a distributed table only from one that is distributed as
 * well, so that a migration cannot make one where the warehouse is distributed already: a new table with such a key has its name
 * here and no key in its migration.
 */
const keyedTables: readonly string[] = [
  'ledger',
  'refusals',
  'failures',
  'quarantine',
  'parcels',
  'reading_tags',
  'silent_differences',
  'differences',
  'drift_people',
]

/** The place of a table: divided by the profile, copied to each node, or whole. `key`: it has a foreign key to the profiles. */
export type TablePlace = {
  readonly table: string
  readonly is: 'divided' | 'copied' | 'whole'
  readonly wanted: 'divided' | 'copied'
  readonly hasKey: boolean
  readonly wantsKey: boolean
}

/** Whether the database has the extension: without it no table of Citus can be asked. */
export async function hasCitus(db: Pool | Tx): Promise<boolean> {
  const { rows } = await db.query("select from pg_extension where extname = 'citus'")
  return rows.length > 0
}

/** Every table that is not to stay whole, the profiles first: the others are laid beside them. */
export async function listTablePlaces(db: Pool | Tx): Promise<TablePlace[]> {
  const isDivided = (await hasCitus(db))
    ? `(select case p.partmethod when 'h' then 'divided' else case p.repmodel when 't' then 'copied' end end
        from pg_dist_partition p where p.logicalrelid = c.oid)`
    : 'null'
  const { rows } = await db.query<{ table: string; is: 'divided' | 'copied' | null; hasKey: boolean }>(
    `select c.relname as "table", ${isDivided} as is, exists (
       select from pg_constraint k where k.conrelid = c.oid and k.confrelid = 'vitalsync.profiles'::regclass) as "hasKey"
     from pg_class c
     where c.relnamespace = 'vitalsync'::regnamespace and c.relkind = 'r' and (
       c.relname in ('profiles', ${copiedTables.map((name) => `'${name}'`).join(', ')})
       or c.relname <> all($1) and exists (select from pg_attribute a
         where a.attrelid = c.oid and a.attname = 'profile_id' and not a.attisdropped))
     order by c.relname <> 'profiles', c.relname`,
    [wholeTables],
  )
  return rows.map(({ table, is, hasKey }) => ({
    table,
    is: is ?? 'whole',
    wanted: copiedTables.includes(table) ? 'copied' : 'divided',
    hasKey,
    wantsKey: keyedTables.includes(table),
  }))
}

/** The value that all divided tables share. Undefined where nothing is divided. */
export async function readShardCount(db: Pool | Tx): Promise<number | undefined> {
  if (!(await hasCitus(db))) return undefined
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from pg_dist_shard where logicalrelid = 'vitalsync.profiles'::regclass`,
  )
  return rows[0]?.count || undefined
}

/** Refuses a warehouse that is divided otherwise than the setting says. Its number of shards; undefined where nothing is divided. */
export async function requireDivision(pool: Pool): Promise<number | undefined> {
  const shards = await readShardCount(pool)
  if (shards === undefined || shards === pool.division.count) return shards
  throw new UsageProblem(
    `open warehouse: it is divided into ${shards} shards, and WAREHOUSE_SHARDS is ${pool.division.count}`,
    { hint: `Set WAREHOUSE_SHARDS=${shards} for every process.` },
  )
}
