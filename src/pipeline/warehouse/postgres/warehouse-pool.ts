import type pg from 'pg'
import { openPostgresPool } from '../../../base/postgres/postgres-pool.ts'
import { inTransaction } from '../../../base/postgres/transaction.ts'
import { SECOND } from '../../../base/time/units.ts'
import {
  type BucketHashes,
  createProfileBuckets,
  isEverybody,
  type ProfileBuckets,
} from '../../fleet/profile-buckets.ts'
import { atShard, holdShard, isShardHere, type Shard, statementAtShard } from './shard.ts'
import { postgresUnreachable, ShardMoved, sqlState } from './sql-errors.ts'

/** A query whose row type is not given returns rows of unknown values, where the driver's own types return `any`. */
type Queryable = {
  query<R extends pg.QueryResultRow = Record<string, unknown>>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<R>>
}
export type Pool = Queryable &
  Pick<pg.Pool, 'connect' | 'end' | 'on'> &
  Readonly<Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount'>> & {
    /**
     * How the warehouse is divided. A statement that names the profiles of one bucket alone, at every table of a person, is
     * sent whole to the node that has them; so no batch spans two buckets.
     */
    readonly buckets: ProfileBuckets
    /** The bucket of this profile at the node that has it; this pool itself where the warehouse is one database. */
    of(profileId: string): Pool
    /** A bucket at the node that has it; undefined where a query of the whole warehouse finds its profiles. */
    shardOf(bucket: BucketHashes): Pool | undefined
    /** The only profiles that statements of this pool meet are those of the shard; undefined: those of the whole warehouse. */
    readonly shard: Shard | undefined
    /** Each server that is in use: one, or the coordinator and the nodes of a divided warehouse. */
    servers(): readonly Queryable[]
    /** How long a call waits for others that share its statement: of a divided warehouse all meet at the coordinator. */
    readonly gatherMs: number
    /** The error with which a transaction fails that this error ended. */
    failure(error: unknown): unknown
  }
/** A connection of the pool. `query` also takes a statement with its own protocol handling, such as a cursor. */
export type Connection = Queryable & { query<S extends pg.Submittable>(statement: S): S } & Pick<
    pg.PoolClient,
    'release'
  >
/** A connection within a transaction. */
export type Tx = Connection & {
  readonly buckets: ProfileBuckets
  /** Rewrites table names for the current shard. `query` already does this; call it for COPY and cursors. */
  adapt(text: string): string
}

export type WarehousePoolOptions = {
  readonly databaseUrl: string
  readonly connectionsMax: number
  readonly name: string
  /** Sends a statement before the former is answered, as `pipelined` needs it. Cursors cannot be used then. */
  readonly pipeline?: boolean
  /** How long one statement may take. A worker's statements are short; a report of a command may take its time. */
  readonly statementTimeoutMs?: number
  /** Statements that change something fail. */
  readonly readOnly?: boolean
  /** Into how many buckets the profiles are divided. */
  readonly bucketCount: number
}

/** No statement of a worker takes so long: rows go in portions. */
const WORKER_STATEMENT_TIMEOUT_MS = 20 * SECOND
/**
 * A client between two statements of a transaction: no transaction of the warehouse computes for long. Those who wait for the locks of
 * a frozen client wait longer, so that none of them fails because of it.
 */
const SILENT_TRANSACTION_MAX_MS = 14 * SECOND
/** For a worker: a process that holds a lock longer makes no progress. A frozen process has lost it before. */
export const LOCK_TIMEOUT_MS = SILENT_TRANSACTION_MAX_MS + 4 * SECOND

export function openWarehousePool(options: WarehousePoolOptions): Pool {
  const { statementTimeoutMs = WORKER_STATEMENT_TIMEOUT_MS, readOnly = false, bucketCount } = options
  const settings = {
    synchronous_commit: 'on',
    jit: 'off', // it compiles a view for seconds that is answered in a moment
    idle_in_transaction_session_timeout: `${SILENT_TRANSACTION_MAX_MS}ms`,
    lock_timeout: `${Math.min(LOCK_TIMEOUT_MS, statementTimeoutMs)}ms`,
    ...(readOnly ? { default_transaction_read_only: 'on' } : {}),
  }
  const pool = openPostgresPool({ ...options, statementTimeoutMs, settings })
  // The pool replaces an idle connection that the server ends. Without a listener the error would end the process.
  pool.on('error', ignoreError)
  return withBuckets(pool, createProfileBuckets(bucketCount))
}

/** A warehouse that is one database. */
export function withBuckets<P extends pg.Pool>(pool: P, buckets: ProfileBuckets): P & Pool {
  const whole: P & Pool = Object.assign(pool, {
    buckets,
    of: () => whole,
    shardOf: () => undefined,
    shard: undefined,
    servers: () => [whole],
    gatherMs: 0,
    failure: (error: unknown) => error,
  })
  return whole
}

const ignoreError = () => undefined

/** Serialization failure and deadlock: the same transaction may succeed when it is run again. */
const retryableStates = new Set(['40001', '40P01'])
const RETRIES_MAX = 5

/**
 * `by-index`: for statements that are written for one plan, which looks rows up by key whatever the size of the arrays. It is kept. On
 * small tables, or with old statistics, Postgres would choose a plan that reads a table or an index from end to end. A table that is
 * nearly always empty is named with `= any($n)` beside the join: by this its rows are looked up even where Postgres begins with it.
 * `by-index-whole`: the same for tables that are never divided.
 */
type PlanChoice = 'free' | 'by-index' | 'by-index-whole'

const lookUpByIndex = ['seqscan', 'hashjoin', 'mergejoin', 'material']
  .map((way) => `set local enable_${way} = off`)
  .join('; ')

/** Citus finds the node of a statement by the values of its parameters, which a generic plan does not know. */
function beginStatement(plans: PlanChoice, { count }: ProfileBuckets): string {
  if (plans === 'free') return 'begin'
  const mode = count === 1 || plans === 'by-index-whole' ? 'force_generic_plan' : 'force_custom_plan'
  return `begin; set local plan_cache_mode = ${mode}; ${lookUpByIndex}`
}

/** Runs `work` in a transaction, again after a serialization failure. `work` must have no effect outside the database. */
export async function transaction<T>(pool: Pool, work: (tx: Tx) => Promise<T>, plans: PlanChoice = 'free'): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await runTransaction(pool, work, beginStatement(plans, pool.buckets))
    } catch (error) {
      if (retries >= RETRIES_MAX || !retryableStates.has(sqlState(error))) throw error
    }
  }
}

/**
 * A transaction on rows of one bucket, and then `count`, which adds what was done to the runs. One database commits both together. On
 * several nodes the rows are committed at the node that has them, so that none of it waits for the coordinator, and what they count
 * after that: a process that dies in between leaves an order open, whose job is carried out again.
 */
export async function transactionThenCount<T>(
  pool: Pool,
  { profileId, plans = 'free', work, count }: CountedWork<T>,
): Promise<void> {
  const node = pool.of(profileId)
  if (node === pool) return transaction(pool, async (tx) => count(tx, await work(tx)), plans)
  const done = await transaction(node, work, plans)
  await transaction(pool, (tx) => count(tx, done), plans === 'free' ? 'free' : 'by-index-whole')
}

type CountedWork<T> = {
  /** One of the bucket. */
  readonly profileId: string
  readonly plans?: PlanChoice
  readonly work: (tx: Tx) => Promise<T>
  readonly count: (tx: Tx, done: T) => Promise<void>
}

async function runTransaction<T>(pool: Pool, work: (tx: Tx) => Promise<T>, begin: string): Promise<T> {
  const client = await pool.connect().catch((cause: Error) => {
    throw postgresUnreachable(cause)
  })
  const tx = asTransaction(client, pool)
  const working = inTransaction(
    tx,
    () => work(tx),
    () => beginTransaction(client, begin, pool),
  )
  return working.catch((error: unknown) => {
    throw pool.failure(error)
  })
}

/** A connection that carries out statements of the warehouse: at a shard, on the tables of the shard. */
export function asTransaction(client: pg.PoolClient, { buckets, shard }: Pick<Pool, 'buckets' | 'shard'>): Tx {
  if (!shard) return Object.assign(client, { buckets, adapt: (text: string) => text })
  const query = (statement: string | pg.QueryConfig | pg.Submittable, values?: unknown[]) => {
    if (typeof statement === 'string') return client.query(atShard(shard, statement), values)
    return 'submit' in statement ? client.query(statement) : client.query(statementAtShard(shard, statement), values)
  }
  return {
    buckets,
    adapt: (text) => atShard(shard, text),
    query: query as Tx['query'], // it answers as the driver does
    release: client.release,
  }
}

async function beginTransaction(client: pg.PoolClient, begin: string, { shard }: Pool): Promise<void> {
  const begun = client.query(begin)
  if (!shard) {
    await begun
    return
  }
  const [, , here] = await pipelined([begun, client.query(holdShard(shard)), client.query(isShardHere(shard))])
  if (here?.rowCount !== 1) throw new ShardMoved('reach people of the warehouse: their shard has moved')
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
 * A condition that names the profiles of one bucket, beside the join that already holds for them: by it a warehouse on several nodes
 * sends the statement whole to one of them. With one bucket it is left out, because Postgres takes it into each look-up by key, which
 * then takes two or three times as long (seven microseconds more).
 */
export const inBucketSql = (
  { buckets }: { readonly buckets: ProfileBuckets },
  column: string,
  parameter: string,
): string =>
  buckets.count > 1
    ? `${column} = any(${parameter}::int8[])`
    : `${parameter}::int8[] is not null /* ${column} = any(${parameter}) with several buckets */`

/** A further condition: the profile is in the bucket. Nothing for the bucket of everybody. */
export const inHashesSql = (column: string, bucket: BucketHashes | undefined): string =>
  bucket === undefined || isEverybody(bucket)
    ? ''
    : `and hashint8(${column}) between ${Math.trunc(bucket.firstHash)} and ${Math.trunc(bucket.lastHash)}`
