import pg from 'pg'
import type { Log } from '../../log.ts'

export type Pool = pg.Pool

export type PoolOptions = { databaseUrl: string; connectionsMax: number; statementTimeoutMs: number; log: Log }

/** What a query can be sent to: the pool, or one connection within a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>

const CONNECT_TIMEOUT_MS = 5_000

export function openPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    application_name: 'vitalsync service',
    options: `-c timezone=UTC -c statement_timeout=${options.statementTimeoutMs} -c idle_in_transaction_session_timeout=30000`,
  })
  // An idle connection that the server ends is replaced on next use; unheard, its error would end the process.
  pool.on('error', (error) => {
    if (pool.ending) return // we are hanging up ourselves, and the server may be quicker
    options.log.warn({ code: (error as { code?: string }).code }, 'lost a database connection')
  })
  return pool
}

/** Runs `work` in one transaction: all of it is kept, or nothing. */
export async function withTransaction<T>(pool: pg.Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken = true
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    broken = false
    return result
  } catch (error) {
    broken = await client.query('rollback').then(
      () => false,
      () => true,
    )
    throw error
  } finally {
    client.release(broken)
  }
}
