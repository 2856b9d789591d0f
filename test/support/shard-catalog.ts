import type { Shard } from '../../src/pipeline/warehouse/postgres/shard.ts'
import type { Pool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'

/**
 * Gives a plain Postgres the part of the catalog of Citus that says where shards are, so that it can be a node of a warehouse. All
 * these shards are at this node until `moveAway`. The behaviour of Citus itself is tested on a real cluster: `npm run citus`.
 */
export async function imitateNode(node: Pick<Pool, 'query'>, shards: readonly Shard[]): Promise<void> {
  await node.query('create function lock_shard_metadata(int, int8[]) returns void language sql as $$ select $$')
  await node.query('create table pg_dist_local_group as select 1 as groupid')
  await node.query('create table pg_dist_placement as select shardid, 1 as groupid from unnest($1::int8[]) shardid', [
    shards.map(({ id }) => id),
  ])
}

export async function moveAway(node: Pick<Pool, 'query'>, { id }: Shard): Promise<void> {
  await node.query('update pg_dist_placement set groupid = 2 where shardid = $1', [id])
}
