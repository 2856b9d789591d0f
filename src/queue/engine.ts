import { createPostgresBackend, Queue, runMigrations, Worker, type WorkerOptions, withBackend } from 'bullmq'
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import type { Lane } from '../budget.ts'
import { EngineUnreachable, UsageProblem } from '../errors.ts'

/** What travels through the queue: which job, for which of our own ids, in which run. Never a name, a token or a value. */
export type Ticket = { readonly payload: unknown; readonly runId: string | undefined }

export type LaneQueue = Queue<Ticket>
export type LaneWorker = Worker<Ticket>
type Process = (job: import('bullmq').Job<Ticket>, token?: string, signal?: AbortSignal) => Promise<unknown>

/** The one place that knows which engine carries the queue. Everything else speaks of lanes. */
export type QueueEngine = {
  readonly kind: 'redis' | 'postgres'
  queue(lane: Lane): LaneQueue
  worker(lane: Lane, work: Process, options: Omit<WorkerOptions, 'connection' | 'prefix'>): LaneWorker
  /** After many jobs came in at once: lets the engine plan for what it now holds. */
  settle(): Promise<void>
  close(): Promise<void>
}

/** The braces put all keys of the queue on one slot of a Redis Cluster, which its scripts need. */
const PREFIX = '{vitalsync}'
const nameOf = (lane: Lane) => `vitalsync-${lane}`

export async function openQueueEngine(queueUrl: string): Promise<QueueEngine> {
  const { protocol } = new URL(queueUrl.split(',')[0] ?? queueUrl)
  if (protocol === 'redis:' || protocol === 'rediss:') return openRedisEngine(queueUrl)
  if (protocol === 'postgres:' || protocol === 'postgresql:') return openPostgresEngine(queueUrl)
  throw new UsageProblem(`open queue: QUEUE_URL starts with ${protocol}//`, {
    hint: 'It must be redis://, rediss:// or postgres://; several Redis Cluster nodes are separated by commas.',
  })
}

/** A producer must hear within a second that Redis is down; a worker waits for it to come back. */
const producing: Patience = { maxRetriesPerRequest: 1, connectTimeout: 5000 }
const working: Patience = { maxRetriesPerRequest: null, connectTimeout: 5000 }

type Patience = { maxRetriesPerRequest: number | null; connectTimeout: number }

export function connectRedis(queueUrl: string, options: Patience): Redis | Cluster {
  const urls = queueUrl
    .split(',')
    .map((text, index) => (index === 0 ? text : text.replace(/^(?!rediss?:)/, 'redis://')))
  const first = new URL(urls[0] ?? queueUrl)
  const isCluster = urls.length > 1 || first.searchParams.has('cluster')
  first.search = ''
  if (!isCluster) return new Redis(first.href, options)
  const tls = first.protocol === 'rediss:' ? { tls: {} } : {}
  const redisOptions = { ...options, ...tls, username: first.username, password: decodeURIComponent(first.password) }
  return new Cluster(
    urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port || 6379) })),
    { redisOptions },
  )
}

function openRedisEngine(queueUrl: string): QueueEngine {
  const forProducing = connectRedis(queueUrl, producing)
  const forWorking = connectRedis(queueUrl, working)
  for (const connection of [forProducing, forWorking]) connection.on('error', noteElsewhere)
  const queues = new Map<Lane, LaneQueue>()
  return {
    kind: 'redis',
    queue: (lane) =>
      remember(queues, lane, () => {
        const queue: LaneQueue = new Queue(nameOf(lane), {
          connection: forProducing,
          prefix: PREFIX,
          skipWaitingForReady: true,
        })
        queue.on('error', noteElsewhere)
        return queue
      }),
    worker: (lane, work, options) => {
      const process: Process = (job, token, signal) => work(job, token, signal)
      return new Worker<Ticket>(nameOf(lane), process, { ...options, connection: forWorking, prefix: PREFIX })
    },
    settle: async () => undefined,
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      forProducing.disconnect()
      forWorking.disconnect()
    },
  }
}

async function openPostgresEngine(queueUrl: string): Promise<QueueEngine> {
  await prepareDatabase(queueUrl)
  const backend = withBackend(createPostgresBackend)
  const connection = { connectionString: queueUrl, schema: 'bullmq', max: 10, application_name: 'vitalsync queue' }
  const queues = new Map<Lane, LaneQueue>()
  const admin = new pg.Pool({ connectionString: queueUrl, max: 1, application_name: 'vitalsync queue' })
  admin.on('error', noteElsewhere)
  return {
    kind: 'postgres',
    queue: (lane) =>
      remember(queues, lane, () => {
        const queue = new backend.Queue<Ticket>(nameOf(lane), { connection, skipWaitingForReady: true })
        queue.on('error', noteElsewhere)
        return queue as unknown as LaneQueue // the same interface; only the backend's type parameter differs
      }),
    worker: (lane, work, options) => {
      const process: Process = (job, token, signal) => work(job, token, signal)
      return new backend.Worker<Ticket>(nameOf(lane), process, { ...options, connection }) as unknown as LaneWorker
    },
    // Without fresh statistics a burst into a long idle queue makes each claim sort the whole backlog.
    async settle() {
      await admin.query('analyze bullmq.job')
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      await admin.end()
    },
  }
}

async function prepareDatabase(queueUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: queueUrl, connectionTimeoutMillis: 10_000 })
  await client.connect().catch((cause: Error) => {
    throw new EngineUnreachable(`reach the queue's Postgres: ${cause.message}`, {
      hint: 'Check QUEUE_URL and that the server is running; `vitalsync doctor` tries every connection.',
      cause,
    })
  })
  try {
    await runMigrations(client, 'bullmq')
  } finally {
    await client.end()
  }
}

/** Connection trouble is reported by the call that meets it, and by the watchdog; the libraries want a listener all the same. */
const noteElsewhere = () => undefined

function remember<V>(kept: Map<Lane, V>, lane: Lane, make: () => V): V {
  const known = kept.get(lane) ?? make()
  kept.set(lane, known)
  return known
}
