import { randomUUID } from 'node:crypto'
import {
  createPostgresBackend,
  type PostgresConnectionOptions,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
  withBackend,
} from 'bullmq'
import pg from 'pg'
import { connectionProblem } from '../connections/connection-problem.ts'
import { connectTimeoutMsFor } from '../connections/own-server.ts'
import { UsageProblem } from '../errors.ts'
import type { Lane } from '../fleet/budget.ts'
import { openPostgresPool } from '../postgres/postgres-pool.ts'
import { firstAddress } from '../text/readable-address.ts'
import { SECOND } from '../time/units.ts'
import type { Order } from '../transfer/order.ts'
import { createQueueTelemetry } from './queue-telemetry.ts'
import { connectRedis, createRedisCheck, failFast, reconnectForever } from './redis-connection.ts'

/** The data that the queue stores of an order, beside the job's name: ids of ours and params. Never a name, a token or a value. */
export type JobData = Omit<Order, 'job'>

export type LaneQueue = Queue<JobData>
export type LaneWorker = Worker<JobData>
type ProcessJob = (job: import('bullmq').Job<JobData>, token?: string, signal?: AbortSignal) => Promise<unknown>

/** The queue on Redis or on Postgres. Only this file knows which; all others use lanes. */
export type QueueEngine = {
  readonly kind: 'redis' | 'postgres'
  queue(lane: Lane): LaneQueue
  worker(lane: Lane, work: ProcessJob, options: Omit<WorkerOptions, 'connection' | 'prefix'>): LaneWorker
  /** Lets the engine's query planner know how many jobs it holds. For the time after many were enqueued at once. */
  refreshStatistics(): Promise<void>
  /** Equal for all processes that use the same queue, however they address it; another for every other queue. */
  queueId(): Promise<string>
  /** Throws why the queue cannot be used, if it cannot. A worker waits for its queue; a command asks once and fails at once. */
  requireUsable(): Promise<void>
  close(): Promise<void>
}

/** The braces put all keys of the queue into one slot of a Redis Cluster: BullMQ's scripts need that. */
const KEY_PREFIX = '{vitalsync}'
const QUEUE_ID_KEY = `${KEY_PREFIX}:queue-id`
const QUEUE_SCHEMA = 'bullmq'
const QUEUE_CONNECTIONS_MAX = 16
const QUEUE_STATEMENT_TIMEOUT_MS = 20 * SECOND
const queueNameOf = (lane: Lane) => `vitalsync-${lane}`

type QueueEngineOptions = {
  readonly statementTimeoutMs?: number
  /** Jobs go on with the trace of the run that ordered them. */
  readonly traced?: boolean
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
  const telemetry = telemetryOf(options)
  const producerConnection = connectRedis(queueUrl, failFast)
  const workerConnection = connectRedis(queueUrl, reconnectForever)
  for (const connection of [producerConnection, workerConnection]) connection.on('error', ignoreConnectionError)
  const keepQueueId = () => producerConnection.set(QUEUE_ID_KEY, randomUUID(), 'NX')
  const requireUsable = createRedisCheck(queueUrl, producerConnection, keepQueueId)
  const queues = new Map<Lane, LaneQueue>()
  return {
    kind: 'redis',
    queue: (lane) =>
      getOrCreate(queues, lane, () => redisQueueOf(lane, { connection: producerConnection, ...telemetry })),
    worker: (lane, work, options) => {
      const process: ProcessJob = (job, token, signal) => work(job, token, signal)
      return new Worker<JobData>(queueNameOf(lane), process, {
        ...options,
        ...telemetry,
        connection: workerConnection,
        prefix: KEY_PREFIX,
      })
    },
    refreshStatistics: async () => undefined,
    // Stored in the queue's own database: another database of the same server is another queue.
    async queueId() {
      await keepQueueId()
      return (await producerConnection.get(QUEUE_ID_KEY)) ?? ''
    },
    requireUsable,
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      producerConnection.disconnect()
      workerConnection.disconnect()
    },
  }
}

function redisQueueOf(lane: Lane, options: Pick<QueueOptions, 'connection' | 'telemetry'>): LaneQueue {
  const queue: LaneQueue = new Queue(queueNameOf(lane), { ...options, prefix: KEY_PREFIX, skipWaitingForReady: true })
  queue.on('error', ignoreConnectionError)
  return queue
}

async function openPostgresEngine(queueUrl: string, options: QueueEngineOptions): Promise<QueueEngine> {
  const { statementTimeoutMs = QUEUE_STATEMENT_TIMEOUT_MS } = options
  const telemetry = telemetryOf(options)
  await migrateQueueDatabase(queueUrl)
  const backend = withBackend(createPostgresBackend)
  // One pool for all queues and workers of this process: of its connections each lane's worker keeps one to LISTEN.
  const pool = openPostgresPool({
    databaseUrl: queueUrl,
    connectionsMax: QUEUE_CONNECTIONS_MAX,
    name: 'vitalsync queue',
    statementTimeoutMs,
    settings: { search_path: QUEUE_SCHEMA },
  })
  pool.on('error', ignoreConnectionError)
  const connection = pool as unknown as PostgresConnectionOptions // BullMQ's own types describe only a part of a pool
  const queues = new Map<Lane, LaneQueue>()
  return {
    kind: 'postgres',
    queue: (lane) =>
      getOrCreate(queues, lane, () => {
        const queue = new backend.Queue<JobData>(queueNameOf(lane), {
          connection,
          skipWaitingForReady: true,
          ...telemetry,
        })
        queue.on('error', ignoreConnectionError)
        return queue as unknown as LaneQueue // the same interface; only the backend's type parameter differs
      }),
    worker: (lane, work, options) => {
      const process: ProcessJob = (job, token, signal) => work(job, token, signal)
      return new backend.Worker<JobData>(queueNameOf(lane), process, {
        ...options,
        ...telemetry,
        connection,
      }) as unknown as LaneWorker
    },
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
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      await pool.end()
    },
  }
}

async function migrateQueueDatabase(queueUrl: string): Promise<void> {
  const client = new pg.Client({
    connectionString: queueUrl,
    connectionTimeoutMillis: connectTimeoutMsFor(queueUrl, 10_000),
  })
  client.on('error', () => undefined) // the statement under way fails with the error
  await client.connect().catch(async (cause: unknown) => {
    throw await connectionProblem({ kind: 'Postgres', url: queueUrl, variable: 'QUEUE_URL' }, cause)
  })
  try {
    await runMigrations(client, QUEUE_SCHEMA)
  } finally {
    await client.end()
  }
}

/** The libraries need a listener. A connection error is reported by the call that fails, and by the watchdog. */
const ignoreConnectionError = () => undefined

function getOrCreate<V>(byLane: Map<Lane, V>, lane: Lane, create: () => V): V {
  const value = byLane.get(lane) ?? create()
  byLane.set(lane, value)
  return value
}
