import type pg from 'pg'
import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import { inTransaction, openPostgresPool } from '../../../base/postgres/postgres-pool.ts'
import { SECOND } from '../../../base/time/units.ts'
import { postgresUnreachable } from './sql-errors.ts'

/** A query whose row type is not given returns rows of unknown values, where the driver's own types return `any`. */
type Queryable = {
  query<R extends pg.QueryResultRow = Record<string, unknown>>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<R>>
}
/** The profiles that one statement and one transaction may name together: all of them, where the warehouse is one database. */
export type Division = {
  readonly count: number
  /** Profiles of one key go together. */
  keyOf(profileId: string): number
  /** The items of each key, each in their former order. No part is empty. */
  split<T>(items: readonly T[], profileIdOf: (item: T) => string): T[][]
  /** The error that callers see in the place of this one. */
  toCallersError(error: unknown): unknown
}

export const undivided: Division = {
  count: 1,
  keyOf: () => 0,
  split: (items) => (items.length === 0 ? [] : [[...items]]),
  toCallersError: (error) => error,
}

type Divided = { readonly division: Division }

export type Pool = Queryable &
  Pick<pg.Pool, 'connect' | 'end' | 'on'> &
  Readonly<Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>> &
  Divided
/** A connection of the pool. `query` also takes a statement with its own protocol handling, such as a cursor. */
export type Connection = Queryable & { query<S extends pg.Submittable>(statement: S): S } & Pick<
    pg.PoolClient,
    'release'
  >
/** A connection within a transaction. */
export type Tx = Connection &
  Divided & {
    /**
     * Waits for these statements, as `pipelined` does, and sends the commit behind them before they are answered: nothing is committed
     * when one of them fails. No statement may follow. A transaction commits when its work is done where the work does not call it, or
     * the pool does not pipeline.
     */
    readonly commit: (statements: readonly Promise<unknown>[]) => Promise<void>
  }

type WarehousePoolOptions = {
  readonly databaseUrl: string
  readonly connectionsMax: number
  readonly name: string
  /** Sends a statement before the former is answered, as `pipelined` needs it. Cursors cannot be used then. */
  readonly pipeline?: boolean
  /** How long one statement may take. A worker's statements are short; a report of a command may take its time. */
  readonly statementTimeoutMs?: number
  /** Statements that change something fail. */
  readonly readOnly?: boolean
  readonly division?: Division
  /** As of `openPostgresPool`. */
  readonly sayFrozen?: (text: string) => void
}

/** A worker's statements are shorter, because rows are written in portions. */
const WORKER_STATEMENT_TIMEOUT_MS = 20 * SECOND
/**
 * A client between two statements of a transaction: no transaction of the warehouse computes for long. Those who wait for the locks of
 * a frozen client wait longer, so that none of them fails because of it.
 */
const SILENT_TRANSACTION_MAX_MS = 14 * SECOND
/** For a worker: a process that holds a lock longer makes no progress. A frozen process has lost it before. */
export const LOCK_TIMEOUT_MS = SILENT_TRANSACTION_MAX_MS + 4 * SECOND

export function openWarehousePool(options: WarehousePoolOptions): Pool {
  const { statementTimeoutMs = WORKER_STATEMENT_TIMEOUT_MS, readOnly = false, division = undivided } = options
  const settings = {
    synchronous_commit: 'on',
    jit: 'off', // it compiles a view for seconds that is answered in a moment
    idle_in_transaction_session_timeout: `${SILENT_TRANSACTION_MAX_MS}ms`,
    lock_timeout: `${Math.min(LOCK_TIMEOUT_MS, statementTimeoutMs)}ms`,
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
  }
  return withDivision(openPostgresPool({ ...options, statementTimeoutMs, settings }), division)
}

export function withDivision<P extends pg.Pool>(pool: P, division: Division): P & Pool {
  const ask = pool.query.bind(pool) as Queryable['query']
  const query: Queryable['query'] = (statement, values) =>
    ask<never>(statement, values).catch((error: unknown) => {
      throw division.toCallersError(error)
    })
  return Object.assign(pool, { division }, division.count > 1 ? { query } : {})
}

/** Serialization failure and deadlock: the same transaction may succeed when it is run again. */
const retryableStates = new Set(['40001', '40P01'])
const RETRIES_MAX = 5

/**
 * `by-index`: for statements that are written for one plan, which looks rows up by key whatever the size of the arrays. It is kept. On
 * small tables, or with old statistics, Postgres would choose a plan that reads a table or an index from end to end. A table that is
 * nearly always empty is named with `= any($n)` beside the join: by this its rows are looked up even where Postgres begins with it.
 */
type PlanChoice = 'free' | 'by-index'

const lookUpByIndex = ['seqscan', 'hashjoin', 'mergejoin', 'material']
  .map((way) => `set local enable_${way} = off`)
  .join('; ')

/** The plan of a divided warehouse depends on whom the parameters name, which a generic plan does not know. */
function beginStatement(plans: PlanChoice, { count }: Division): string {
  if (plans === 'free') return 'begin'
  const mode = count === 1 ? 'force_generic_plan' : 'force_custom_plan'
  return `begin; set local plan_cache_mode = ${mode}; ${lookUpByIndex}`
}

/** Runs `work` in a transaction, again after a serialization failure. `work` must have no effect outside the database. */
export const transaction = <T>(pool: Pool, work: (tx: Tx) => Promise<T>, plans: PlanChoice = 'free'): Promise<T> =>
  repeated(pool, { work, plans, atOnce: false })

/**
 * The same for work by index that begins with statements which only read, or that is a single statement: these go to the server together
 * with `begin`. `work` awaits `begun` before it changes anything else.
 */
export const transactionAtOnce = <T>(pool: Pool, work: (tx: Tx, begun: Promise<unknown>) => Promise<T>): Promise<T> =>
  repeated(pool, { work, plans: 'by-index', atOnce: true })

/**
 * One statement by index: `begin`, statement and `commit` go to the server in one write. Where the statement is not sent, there is nothing
 * to commit.
 */
export async function queryByIndex<R extends pg.QueryResultRow>(pool: Pool, statement: pg.QueryConfig): Promise<R[]> {
  const work: Work<R[]>['work'] = async (tx, begun, commit) => {
    const asked = tx.query<R>(statement)
    await pipelined<unknown>([begun, asked, ...(isPipelined(pool) ? [commit()] : [])])
    return (await asked).rows
  }
  return await repeated(pool, { work, plans: 'by-index', atOnce: true })
}

type Work<T> = {
  /** `commit` sends the commit at once. */
  readonly work: (tx: Tx, begun: Promise<unknown>, commit: () => Promise<void>) => Promise<T>
  readonly plans: PlanChoice
  readonly atOnce: boolean
}

async function repeated<T>(pool: Pool, work: Work<T>): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await runTransaction(pool, work)
    } catch (error) {
      if (retries >= RETRIES_MAX || !retryableStates.has(sqlState(error))) throw error
    }
  }
}

/** A connection that carries out statements of the warehouse. */
export const asTransaction = (client: pg.PoolClient, pool: Pool): Tx => openTransaction(client, pool).tx

/** A driver that does not pipeline warns of statements that wait in it. */
const isPipelined = ({ options }: Pick<Pool, 'options'>): boolean => options.pipeline === true

function openTransaction(client: pg.PoolClient, pool: Pool): { readonly tx: Tx; commit(): Promise<void> } {
  let committing: Promise<void> | undefined
  const query = (...statement: unknown[]): unknown => {
    if (committing) throw new Error('query: the transaction has sent its commit')
    return Reflect.apply(client.query, client, statement)
  }
  const commit = () => {
    committing ??= client.query('commit').then(requireCommitted)
    return committing
  }
  const commitBehind = async (statements: readonly Promise<unknown>[]) => {
    const isSent = isPipelined(pool) && (await areSent(statements))
    await pipelined(isSent ? [...statements, commit()] : statements)
  }
  const tx = {
    query: query as Tx['query'], // the driver's overloads have no one type
    release: client.release.bind(client),
    division: pool.division,
    commit: commitBehind,
  }
  return { tx, commit }
}

/**
 * False: one of these statements has failed in this turn of the event loop, as when a value cannot be encoded. Postgres has not
 * seen it, and would commit the others.
 */
async function areSent(statements: readonly Promise<unknown>[]): Promise<boolean> {
  let failures = 0
  for (const statement of statements) {
    statement.catch(() => {
      failures += 1
    })
  }
  await new Promise<void>((resolve) => process.nextTick(resolve))
  return failures === 0
}

/** Postgres answers the commit of a transaction in which a statement has failed with a rollback, and with no error. */
function requireCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT') throw new Error(`commit: Postgres answers ${command}: a statement before it has failed`)
}

async function runTransaction<T>(pool: Pool, { work, plans, atOnce }: Work<T>): Promise<T> {
  const client = await pool.connect().catch((cause: Error) => {
    throw postgresUnreachable(cause)
  })
  const { tx, commit } = openTransaction(client, pool)
  const begun = client.query(beginStatement(plans, pool.division))
  const begin = async () => (atOnce && isPipelined(pool)) || (await begun)
  try {
    // Awaited, so that the stack of an error, or of a statement, names the caller of the transaction.
    return await inTransaction(client, () => work(tx, begun, commit), { begin, commit })
  } catch (error) {
    throw pool.division.toCallersError(error)
  }
}

/**
 * Waits for statements of one transaction that were sent together, in this order. The first statement that fails reports the
 * cause; the later statements fail because of it.
 */
export async function pipelined<T>(statements: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(statements)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

/**
 * A condition that names the profiles of a statement, beside the join that already holds for them: a divided warehouse needs it at each
 * table. One database does without it, because Postgres takes it into each look-up by key, which then takes two or three times as long
 * (seven microseconds more).
 */
export const namedSql = ({ division }: Divided, column: string, parameter: string): string =>
  division.count > 1
    ? `${column} = any(${parameter}::int8[])`
    : `${parameter}::int8[] is not null /* ${column} = any(${parameter}) in a divided warehouse */`
