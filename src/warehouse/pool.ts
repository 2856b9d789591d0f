import pg from 'pg'
import { EngineUnreachable, type Problem } from '../errors.ts'

export type Pool = pg.Pool
export type Tx = pg.PoolClient

export type PoolOptions = {
  readonly databaseUrl: string
  readonly connectionsMax: number
  readonly name: string
  /** Sends statements of one connection before the former is answered, as `sentTogether` wants it. Cursors cannot be used then. */
  readonly pipeline?: boolean
}

export function openPool(options: PoolOptions): Pool {
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.connectionsMax,
    application_name: options.name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    pipeline: options.pipeline ?? false,
    // A process that is stopped in the middle of a transaction must not hold its locks against everybody for ever.
    options: '-c timezone=UTC -c synchronous_commit=on -c idle_in_transaction_session_timeout=20s',
  })
  // An idle connection that the server ends is replaced on next use; without a listener it would end the process.
  pool.on('error', () => undefined)
  return pool
}

/** Serialization failure and deadlock: the same transaction may succeed when it is simply begun again. */
const repeatable = new Set(['40001', '40P01'])
const REPEATS_MAX = 5

/**
 * For statements that are written for one plan, the one that looks up by key whatever the size of the arrays: on small
 * tables, or with old statistics, Postgres would begin with plans that read everything.
 */
export const beginByKey = 'begin; set local plan_cache_mode = force_generic_plan'

/** The same where the plan may have been made while the table was empty, and reading all of it looked like nothing. */
export const beginByIndex = `${beginByKey}; set local enable_seqscan = off`
type Begin = 'begin' | typeof beginByKey | typeof beginByIndex

/** Runs `work` in a transaction, again when Postgres asks for it. `work` must have no effect outside the database. */
export async function transaction<T>(pool: Pool, work: (tx: Tx) => Promise<T>, begin: Begin = 'begin'): Promise<T> {
  for (let repeat = 0; ; repeat++) {
    try {
      return await once(pool, work, begin)
    } catch (error) {
      if (repeat >= REPEATS_MAX || !repeatable.has(sqlState(error))) throw error
    }
  }
}

async function once<T>(pool: Pool, work: (tx: Tx) => Promise<T>, begin: Begin): Promise<T> {
  const tx = await pool.connect().catch((cause: Error) => {
    throw unreachable(cause)
  })
  // A connection that dies between two statements says so by an event, which would end the process if nobody listened;
  // the next statement says it too.
  const heard = () => undefined
  tx.on('error', heard)
  try {
    await tx.query(begin)
    const result = await work(tx)
    await tx.query('commit')
    tx.off('error', heard)
    tx.release()
    return result
  } catch (error) {
    // A connection whose rollback fails too is beyond use: the pool throws it away.
    const broken = await tx.query('rollback').then(
      () => undefined,
      (failed: Error) => failed,
    )
    // Of one that is thrown away, what it still has to say must be heard as long as it lives.
    if (broken === undefined) tx.off('error', heard)
    tx.release(broken)
    throw error
  }
}

/**
 * Waits for statements of one transaction that were sent together, in this order. Of those that fail the first tells why;
 * the others fail because of it.
 */
export async function sentTogether<T>(statements: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(statements)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

export const sqlState = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Classes 22, 23 and 54: Postgres understood us and refuses this very data; asking again would change nothing. */
export const isRefusal = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error))

const socketTrouble = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'])

/** Postgres is away, going, or full: nothing is wrong with what was asked, and it is worth asking again. */
export function isOutage(error: unknown): boolean {
  if (error instanceof EngineUnreachable) return true
  const state = sqlState(error)
  if (/^(08|57P0|53)/.test(state) || state === '25P03' || socketTrouble.has(state)) return true
  // The driver has no code for a connection that ended under a query.
  return error instanceof Error && /^Connection terminated|timeout exceeded when trying to connect/.test(error.message)
}

export function unreachable(cause: unknown): Problem {
  return new EngineUnreachable(`reach Postgres: ${cause instanceof Error ? cause.message : String(cause)}`, {
    hint: 'Check DATABASE_URL and that the server is running; `vitalsync doctor` tries every connection.',
    cause,
  })
}
