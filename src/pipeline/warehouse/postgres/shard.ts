import type pg from 'pg'

/**
 * A bucket of profiles as it lies at its node: in tables of its own. Postgres there plans and keeps statements about them as in any
 * database, while Citus would plan a statement about the whole tables each time.
 */
export type Shard = {
  /** The shard of the profiles. The shards of the other tables are on the same node, and move with it. */
  readonly id: string
  /** By the name of a table of the warehouse: its name at the node. */
  readonly tables: Readonly<Record<string, string>>
  /** Connections keep no plans for it: each shard takes two to three megabytes of each. */
  readonly isPlannedAnew?: boolean
}

/**
 * Holds the shard at its node until the transaction ends, as Citus does for its own statements: a shard that is about to move
 * waits for the transaction, and a transaction for the move.
 */
export const holdShard = ({ id }: Shard): pg.QueryConfig => ({
  name: 'hold shard',
  text: `select lock_shard_metadata(${SHARE_LOCK}, array[$1::int8])`,
  values: [id],
})
/** The number of Postgres for the lock that Citus takes for a statement which writes. */
const SHARE_LOCK = 5

/**
 * Asked when the shard is held. The tables of a shard that moved away before still exist for some time, and records that are
 * written to them are lost.
 */
export const isShardHere = ({ id }: Shard): pg.QueryConfig => ({
  name: 'is shard here',
  text: `select from pg_dist_placement where shardid = $1 and groupid = (select groupid from pg_dist_local_group)`,
  values: [id],
})

export const atShard = (shard: Shard, text: string): string =>
  text.replaceAll(/\bvitalsync\.([a-z_]+)\b/g, (name, table: string) => shard.tables[table] ?? name)

/** The next number of an identity column. A shard has the column without its sequence, which is that of the whole table. */
export const nextIdSql = (table: string): string => `nextval('vitalsync.${table}_id_seq')`

/** A prepared statement has one text on a connection, and the shards of a node share its connections. */
export const statementAtShard = (shard: Shard, { name, ...statement }: pg.QueryConfig): pg.QueryConfig => ({
  ...statement,
  text: atShard(shard, statement.text),
  ...(name === undefined || shard.isPlannedAnew ? {} : { name: `${name} ${shard.id}` }),
})
