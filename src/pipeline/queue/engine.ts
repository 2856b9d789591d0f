import { randomUUID } from 'node:crypto'
import {
  type PostgresConnectionOptions,
  type PostgresQueueBackend,
  Queue,
  type QueueOptions,
  runMigrations,
  type Worker,
  type WorkerOptions,
} from 'bullmq'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { connectionCauseOf } from '../../base/connections/causes.ts'
import { connectionProblem } from '../../base/connections/connection-problem.ts'
import { connectTimeoutMsFor } from '../../base/connections/own-server.ts'
import { UsageProblem } from '../../base/errors.ts'
import { isOutage } from '../../base/postgres/postgres-errors.ts'
import { openPostgresPool } from '../../base/postgres/postgres-pool.ts'
import { withConnection } from '../../base/postgres/short-connection.ts'
import { firstAddress } from '../../base/text/readable.ts'
import { SECOND } from '../../base/time/units.ts'
import { type Lane, lanes } from '../fleet/budget.ts'
import { QUEUE_PARTS_MAX, queuePartTag } from '../fleet/queue-parts.ts'
import type { Order } from '../transfer/order.ts'
import { createRedisCheck } from './examine-redis.ts'
import { createBackend, type ProcessJob, RestingWorker, withAllArguments } from './queue-classes.ts'
import { createQueueTelemetry } from './queue-telemetry.ts'
import { connectRedis, failFast, reconnectForever } from './redis-connection.ts'

/** The data that the queue stores of an order, beside the job's name: ids of ours and params. Never a name, a token or a value. */
export type JobData = Omit<Order, 'job'> & {
  /** As `JOB_FORM` of the version that enqueued it; absent: 1. */
  readonly form?: number
}

export type LaneQueue = Queue<JobData>
export type LaneWorker = Worker<JobData>

/** Where a job waits: in the queue of its lane, in the part of its profile. */
export type LanePart = { readonly lane: Lane; readonly part: number }

/** The queue on Redis or on Postgres. Only this file knows which; all others use lanes and parts. */
export type QueueEngine = {
  readonly kind: 'redis' | 'postgres'
  /** How many parts the queue of each lane is cut into: a profile's jobs go to the part of its id. */
  readonly parts: number
  queue(lane: Lane, part?: number): LaneQueue
  worker(of: LanePart, work: ProcessJob<JobData>, options: Omit<WorkerOptions, 'connection' | 'prefix'>): LaneWorker
  /**
   * Further parts that hold jobs, in order: there were more parts before, or are for another process. An answer may be ten
   * seconds old.
   */
  formerParts(): Promise<readonly number[]>
  /** Whether some process works on the part now: the server lists the connection of each worker. */
  hasWorker(part: number): Promise<boolean>
  /** How many former parts a process may work on at once. */
  readonly formerPartsAtOnceMax: number
  /** Lets the engine's query planner know how many jobs it holds. For the time after many were enqueued at once. */
  refreshStatistics(): Promise<void>
  /** Equal for all processes that use the same queue, however they address it; another for every other queue. */
  queueId(): Promise<string>
  /** Throws why the queue cannot be used, if it cannot. A worker waits for its queue; a command asks once and fails at once. */
  requireUsable(): Promise<void>
  close(): Promise<void>
}

/** The braces put all keys of a part into one slot of a Redis Cluster: BullMQ's scripts need that. */
const keyPrefixOf = (part: number) => `{${queuePartTag(part)}}`
const QUEUE_ID_KEY = `${keyPrefixOf(0)}:queue-id`
const QUEUE_SCHEMA = 'bullmq'
/** Beside those on which the workers listen, one for each lane and part. */
const QUEUE_CONNECTIONS_MAX = 13
const QUEUE_STATEMENT_TIMEOUT_MS = 20 * SECOND
const FORMER_PARTS_LOOK_MS = 10 * SECOND
const queueNameOf = ({ lane, part }: LanePart) => `vitalsync-${lane}${part === 0 ? '' : `-${part}`}`

type QueueEngineOptions = {
  /** The same for all processes, or they work on each other's former parts. */
  readonly parts?: number
  readonly statementTimeoutMs?: number
  /** Jobs go on with the trace of the run that ordered them. */
  readonly traced?: boolean
  /** Looks only: neither migrates the queue's database nor writes the settings of a queue. */
  readonly isObserver?: boolean
}

const telemetryOf = ({ traced = false }: QueueEngineOptions) => (traced ? { telemetry: createQueueTelemetry() } : {})

export async function openQueueEngine(queueUrl: string, options: QueueEngineOptions = {}): Promise<QueueEngine> {
  const { protocol } = firstAddress(queueUrl)
  if (protocol === 'redis:' || protocol === 'rediss:') return openRedisEngine(queueUrl, options)
  if (protocol === 'postgres:' || protocol === 'postgresql:') return openPostgresEngine(queueUrl, options)
  throw new UsageProblem(`open queue: QUEUE_URL starts with ${protocol}//`, {
    hint: 'It must be redis://, rediss:// or postgres://; several Redis Cluster nodes are separated by commas.',
  })
}

function openRedisEngine(queueUrl: string, options: QueueEngineOptions): QueueEngine {
  const { parts = 1, isObserver = false } = options
  const telemetry = telemetryOf(options)
  const producerConnection = connectRedis(queueUrl, failFast)
  const workerConnection = connectRedis(queueUrl, reconnectForever)
  const keepQueueId = async () => (isObserver ? null : producerConnection.set(QUEUE_ID_KEY, randomUUID(), 'NX'))
  const requireUsable = createRedisCheck(queueUrl, producerConnection, keepQueueId)
  // BullMQ's check writes to standard error, once for each queue; the doctor has its own.
  const observer = { skipMetasUpdate: isObserver, skipVersionCheck: isObserver }
  const queueOptions = { connection: producerConnection, ...observer, ...telemetry }
  const queues = createQueues((of) => redisQueueOf(of, queueOptions))
  return {
    kind: 'redis',
    parts,
    queue: queues.get,
    hasWorker: (part) => hasRedisWorker(producerConnection, queues.get('nightly', part)),
    worker: (of, work, options) =>
      new RestingWorker<JobData>(queueNameOf(of), withAllArguments(work), {
        ...options,
        ...telemetry,
        connection: workerConnection,
        prefix: keyPrefixOf(of.part),
      }),
    formerParts: lookNowAndThen(createFormerPartsLook(producerConnection, partsFrom(parts))),
    formerPartsAtOnceMax: QUEUE_PARTS_MAX,
    refreshStatistics: async () => undefined,
    // Stored in the queue's own database: another database of the same server is another queue.
    async queueId() {
      await keepQueueId()
      return (await producerConnection.get(QUEUE_ID_KEY)) ?? ''
    },
    requireUsable,
    async close() {
      await queues.close()
      producerConnection.disconnect()
      workerConnection.disconnect()
    },
  }
}

function redisQueueOf(
  of: LanePart,
  options: Pick<QueueOptions, 'connection' | 'telemetry' | 'skipMetasUpdate' | 'skipVersionCheck'>,
): LaneQueue {
  const prefix = keyPrefixOf(of.part)
  const queue: LaneQueue = new Queue(queueNameOf(of), { ...options, prefix, skipWaitingForReady: true })
  queue.on('error', ignoreConnectionError)
  return queue
}

/** The server lists the workers of all its databases. One that lists none may have some. */
async function hasRedisWorker(redis: ReturnType<typeof connectRedis>, queue: LaneQueue): Promise<boolean> {
  const database = redis instanceof Redis ? (redis.options.db ?? 0) : 0
  return (await queue.getWorkers()).some(({ db }) => db === undefined || Number(db) === database)
}

/** The lists are named once: the tags of all parts take milliseconds. Nearly always no list exists, and one question says so. */
function createFormerPartsLook(redis: ReturnType<typeof connectRedis>, parts: readonly number[]) {
  let lists: Array<{ part: number; keys: string[] }> | undefined
  return async (): Promise<number[]> => {
    lists ??= parts.map((part) => ({ part, keys: jobListKeysOf(part) }))
    // The keys of several parts lie on several servers of a cluster, which answers no question about all.
    if (redis instanceof Redis && (await redis.exists(...lists.flatMap(({ keys }) => keys))) === 0) return []
    const found = lists.map(async ({ part, keys }) => ((await redis.exists(...keys)) > 0 ? [part] : []))
    return (await Promise.all(found)).flat()
  }
}

/** The keys under which BullMQ keeps the jobs of a part that have not ended. */
function jobListKeysOf(part: number): string[] {
  const prefix = keyPrefixOf(part)
  const lists = ['wait', 'prioritized', 'paused', 'active', 'delayed']
  return lanes.flatMap((lane) => lists.map((list) => `${prefix}:${queueNameOf({ lane, part })}:${list}`))
}

async function openPostgresEngine(queueUrl: string, options: QueueEngineOptions): Promise<QueueEngine> {
  const { parts = 1, statementTimeoutMs = QUEUE_STATEMENT_TIMEOUT_MS, isObserver = false } = options
  const telemetry = telemetryOf(options)
  if (!isObserver) await migrateQueueDatabase(queueUrl)
  // One pool for all queues and workers of this process: of its connections each worker of a lane and part keeps one to LISTEN.
  const pool = openPostgresPool({
    databaseUrl: queueUrl,
    connectionsMax: QUEUE_CONNECTIONS_MAX + parts * lanes.length,
    name: 'vitalsync queue',
    statementTimeoutMs,
    // The queue is only a hint. When its server crashes, its last moment may be lost, as with Redis that syncs every second; a run
    // enqueues its open orders again. And a claim that waits for the disk holds up all others: NOTIFY commits one at a time.
    settings: { search_path: QUEUE_SCHEMA, synchronous_commit: 'off' },
  })
  pool.setMaxListeners(0) // each queue and worker of a lane and part has its own
  const connection = pool as unknown as PostgresConnectionOptions // BullMQ's own types describe only a part of a pool
  const queues = createQueues((of) => {
    const queueOptions = { connection, skipWaitingForReady: true, skipMetasUpdate: isObserver, ...telemetry }
    const queue = new Queue(queueNameOf(of), queueOptions, createBackend)
    queue.on('error', ignoreConnectionError)
    return queue as unknown as LaneQueue // the same interface; only the backend's type parameter differs
  })
  return {
    kind: 'postgres',
    parts,
    queue: queues.get,
    hasWorker: async (part) => (await queues.get('nightly', part).getWorkersCount()) > 0,
    worker: (of, work, options) =>
      new RestingWorker<JobData, PostgresQueueBackend, PostgresConnectionOptions>(
        queueNameOf(of),
        withAllArguments(work),
        { ...options, ...telemetry, connection },
        createBackend,
      ) as unknown as LaneWorker,
    formerParts: lookNowAndThen(() => formerPostgresParts(pool, partsFrom(parts))),
    // A former part takes up to three connections of the pool.
    formerPartsAtOnceMax: 2,
    // Without fresh statistics, after a burst into a queue that was idle for long, each claim sorts the whole backlog.
    async refreshStatistics() {
      await pool.query('analyze bullmq.job')
    },
    async queueId() {
      const { rows } = await pool.query<{ id: string }>(
        `select system_identifier || '.' || (select oid from pg_database where datname = current_database()) as id
         from pg_control_system()`,
      )
      return rows[0]?.id ?? ''
    },
    async requireUsable() {
      await pool.query('select 1').catch(async (cause: unknown) => {
        throw await connectionProblem({ kind: 'Postgres', url: queueUrl, variable: 'QUEUE_URL' }, cause)
      })
    },
    async close() {
      await queues.close()
      await pool.end()
    },
  }
}

const formerPartsQuery = `
  select distinct part from unnest($1::int[], $2::text[]) as candidate (part, queue_name)
  where exists (select from bullmq.job where queue = queue_name) order by part`

async function formerPostgresParts(pool: pg.Pool, parts: readonly number[]): Promise<number[]> {
  const candidates = parts.flatMap((part) => lanes.map((lane) => ({ part, name: queueNameOf({ lane, part }) })))
  const { rows } = await pool.query<{ part: number }>(formerPartsQuery, [
    candidates.map(({ part }) => part),
    candidates.map(({ name }) => name),
  ])
  return rows.map(({ part }) => part)
}

async function migrateQueueDatabase(queueUrl: string): Promise<void> {
  const options = {
    connectionString: queueUrl,
    connectMaxMs: connectTimeoutMsFor(queueUrl, 10 * SECOND),
    statement_timeout: QUEUE_STATEMENT_TIMEOUT_MS,
    answerMaxMs: QUEUE_STATEMENT_TIMEOUT_MS + 5 * SECOND,
  }
  await withConnection(options, (client) => runMigrations(client, QUEUE_SCHEMA)).catch(async (cause: unknown) => {
    if (!isOutage(cause) && connectionCauseOf(cause) === 'unknown') throw cause
    throw await connectionProblem({ kind: 'Postgres', url: queueUrl, variable: 'QUEUE_URL' }, cause)
  })
}

/** The libraries need a listener. A connection error is reported by the call that fails, and by the watchdog. */
const ignoreConnectionError = () => undefined

/** The queues of lanes and parts, each made when it is first asked for. */
function createQueues(create: (of: LanePart) => LaneQueue) {
  const queues = new Map<string, LaneQueue>()
  return {
    get(lane: Lane, part = 0): LaneQueue {
      const name = queueNameOf({ lane, part })
      const known = queues.get(name)
      if (known) return known
      const queue = create({ lane, part })
      queues.set(name, queue)
      // The library keeps the error of a first connection as long as the queue lives: the next use makes a new queue.
      queue.waitUntilReady().catch(() => {
        queues.delete(name)
        return queue.close()
      })
      return queue
    },
    close: () => Promise.all([...queues.values()].map((queue) => queue.close())),
  }
}

const partsFrom = (first: number): number[] =>
  Array.from({ length: QUEUE_PARTS_MAX - first }, (_, index) => first + index)

/** An answer is kept for a while; an error is not. */
function lookNowAndThen<T>(look: () => Promise<T>): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly atMs: number } | undefined
  return () => {
    if (last && performance.now() - last.atMs < FORMER_PARTS_LOOK_MS) return last.answer
    const looked = { answer: look(), atMs: performance.now() }
    looked.answer.catch(() => {
      if (last === looked) last = undefined
    })
    last = looked
    return looked.answer
  }
}
