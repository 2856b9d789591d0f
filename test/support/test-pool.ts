import pg from 'pg'
import { requireMigrated } from '../../src/operations/migrate-warehouse.ts'
import { createProfileBuckets } from '../../src/pipeline/fleet/profile-buckets.ts'
import { openWarehousePool, type Pool, withBuckets } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'

/** Into how many buckets the profiles of a test are divided: `WAREHOUSE_SHARDS=16 npm test` tries the statements of a divided warehouse. */
export const testShards = Number(process.env['WAREHOUSE_SHARDS'] || 1)

/**
 * A pool for a test's own questions. `end` of a pool resolves before its connections are closed, and a database that is
 * dropped ends them: nobody else would listen to their errors then.
 */
export function openTestPool(connectionString: string, max = 2): pg.Pool & Pool {
  const pool = new pg.Pool({ connectionString, max })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return withBuckets(pool, createProfileBuckets(testShards))
}

/** Opens the warehouse as a command does, and closes it. */
export async function openAsCommand(databaseUrl: string, bucketCount = testShards): Promise<void> {
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'test', bucketCount })
  await requireMigrated(pool, databaseUrl).finally(() => pool.end())
}
