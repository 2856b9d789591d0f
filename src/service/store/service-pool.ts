import type pg from 'pg'
import type { Log } from '../../base/log.ts'
import { openPostgresPool } from '../../base/postgres/postgres-pool.ts'
import { inTransaction } from '../../base/postgres/transaction.ts'

export type ServicePool = pg.Pool

type ServicePoolOptions = { databaseUrl: string; connectionsMax: number; statementTimeoutMs: number; log: Log }

/** A search of a large account takes one core, not all that there are. */
const settings = { max_parallel_workers_per_gather: '0' }

/** Runs queries: the pool, or one connection within a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>

export function createServicePool(options: ServicePoolOptions): pg.Pool {
  const { databaseUrl, connectionsMax, statementTimeoutMs } = options
  const name = 'vitalsync service'
  const pool = openPostgresPool({ databaseUrl, connectionsMax, statementTimeoutMs, name, settings })
  // The pool replaces an idle connection that the server closed; without this listener its error would end the process.
  pool.on('error', (error) => {
    if (pool.ending) return // the pool itself is closing, and the server may close a connection first
    options.log.warn({ code: (error as { code?: string }).code }, 'lost a database connection')
  })
  return pool
}

/** Runs `work` in one transaction: it commits all of its changes or none. */
export async function withTransaction<T>(pool: pg.Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  return inTransaction(client, () => work(client))
}
