import type pg from 'pg'
import type { Log } from '../../base/log.ts'
import { inTransaction, openPostgresPool } from '../../base/postgres/postgres-pool.ts'
import { SECOND } from '../../base/time/units.ts'

export type ServicePool = pg.Pool

type ServicePoolOptions = { databaseUrl: string; connectionsMax: number; statementTimeoutMs: number; log: Log }

/** A search of a large account uses one core, not all of them. */
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

/** How long a read may wait for the database: for a connection, and for the answer to its statement. */
export const READ_WAIT_MAX_MS = 4 * SECOND
/** The wait is counted in steps. A step during which the process itself was busy counts once, however long it was. */
const WAIT_STEPS = 8

/** A read had no answer in time. Its statement may still be answered: the connection is not given up. */
class ReadTimeout extends Error {
  readonly code = 'ETIMEDOUT'
}

/**
 * Bounds the wait for a read, which is given up without harm. A write waits as long as its statement may take: its caller could not
 * know whether it took effect.
 */
export function withinReadTime<T>(read: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let steps = 0
    const timer = setInterval(() => {
      steps += 1
      if (steps === WAIT_STEPS)
        reject(new ReadTimeout(`the database has not answered a read for ${READ_WAIT_MAX_MS} ms`))
    }, READ_WAIT_MAX_MS / WAIT_STEPS)
    read.then(resolve, reject).finally(() => clearInterval(timer))
  })
}

/** The pool for statements that only read. */
export function readsOf(pool: Queryable): Queryable {
  const query = (...statement: unknown[]) => withinReadTime(Reflect.apply(pool.query, pool, statement))
  return { query: query as Queryable['query'] } // the driver's overloads have no one type
}

/** Runs `work` in one transaction: it commits all of its changes or none. */
export async function withTransaction<T>(pool: pg.Pool, work: (tx: Queryable) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  return inTransaction(client, () => work(client))
}
