import pg from 'pg'
import { requireMigrated } from '../../src/operations/migrate-warehouse.ts'
import { createDivision } from '../../src/pipeline/warehouse/divided/division.ts'
import { openWarehousePool, type Pool, withDivision } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'

/** Into how many shards the warehouse of a test is divided: `WAREHOUSE_SHARDS=16 npm test` tries the statements of a divided warehouse. */
export const testShards = Number(process.env['WAREHOUSE_SHARDS'] || 1)
export const testDivision = createDivision(testShards)

/**
 * A pool for a test's own questions. `end` of a pool resolves before its connections are closed, and a database that is
 * dropped ends them: nobody else would listen to their errors then.
 */
export function openTestPool(connectionString: string, max = 2): pg.Pool & Pool {
  const pool = new pg.Pool({ connectionString, max })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return withDivision(pool, testDivision)
}

/** Opens the warehouse as a command does, and closes it. */
export async function openAsCommand(databaseUrl: string, division = testDivision): Promise<void> {
  const pool = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'test', division })
  await requireMigrated(pool, databaseUrl).finally(() => pool.end())
}
