import { Cluster, Redis } from 'ioredis'
import { connectionCauseOf } from '../../base/connections/causes.ts'
import { connectionProblem, type ServerAddress } from '../../base/connections/connection-problem.ts'
import { writeTurnsTogether } from '../../base/connections/write-turns-together.ts'
import { endsWithin } from '../../base/sleep.ts'
import { firstAddress } from '../../base/text/readable.ts'
import { SECOND } from '../../base/time/units.ts'

const SILENCE_MAX_MS = 20 * SECOND

/**
 * The limits after which a silent Redis is given up and the client reconnects. Workers block for at most ten
 * seconds (BullMQ's longest wait for a delayed job) before Redis answers that there is no job.
 */
const silenceLimits = { connectTimeout: 5 * SECOND, socketTimeout: SILENCE_MAX_MS, keepAlive: 10 * SECOND }

/**
 * A producer must fail within a second when Redis is down; a worker reconnects until Redis is back. `commandTimeout`: where
 * a proxy still accepts connections for a Redis that is gone, the library never fails a command that was sent before.
 */
export const failFast: RetryOptions = { maxRetriesPerRequest: 1, commandTimeout: SILENCE_MAX_MS }
export const reconnectForever: RetryOptions = { maxRetriesPerRequest: null }

type RetryOptions = { maxRetriesPerRequest: number | null; commandTimeout?: number }

export function connectRedis(queueUrl: string, retries: RetryOptions): Redis | Cluster {
  const options = { ...silenceLimits, ...retries }
  const urls = queueUrl
    .split(',')
    .map((text, index) => (index === 0 ? text : text.replace(/^(?!rediss?:)/, 'redis://')))
  const first = new URL(urls[0] ?? queueUrl)
  const isCluster = urls.length > 1 || first.searchParams.has('cluster')
  first.search = ''
  if (!isCluster) return withTurnsTogether(new Redis(first.href, options))
  const tls = first.protocol === 'rediss:' ? { tls: {} } : {}
  const redisOptions = { ...options, ...tls, username: first.username, password: decodeURIComponent(first.password) }
  const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port || 6379) }))
  const cluster = new Cluster(nodes, { redisOptions })
  if (retries.commandTimeout !== undefined) limitCommands(cluster, retries.commandTimeout)
  return cluster
}

/** The library limits a command when it sends it to a node: while no node answers, a command would wait without end. */
function limitCommands(cluster: Cluster, timeoutMs: number): void {
  const send = cluster.sendCommand.bind(cluster)
  cluster.sendCommand = (command, ...to) => {
    command.setTimeout(timeoutMs)
    return send(command, ...to)
  }
}

const ANSWER_TIMEOUT_MS = 8 * SECOND
/** 6.2: older servers lack commands of the queue's scripts. */
const REDIS_OLDEST = [6, 2] as const

/** The answer of `info`, by name. */
export type RedisInfo = ReadonlyMap<string, string>

export function parseRedisInfo(text: string): RedisInfo {
  const pairs = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(pairs.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

export function isRedisTooOld(info: RedisInfo): boolean {
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '0').split('.').map(Number)
  return major < REDIS_OLDEST[0] || (major === REDIS_OLDEST[0] && minor < REDIS_OLDEST[1])
}

/** Its error names no cause: the failing connection reported the cause before, in an event. */
export function createRedisCheck(
  queueUrl: string,
  connection: Redis | Cluster,
  write: () => Promise<unknown>,
): () => Promise<void> {
  const lastError = lastErrorOf(connection)
  const server: ServerAddress = { kind: 'Redis', url: queueUrl, variable: 'QUEUE_URL' }
  return async () => {
    await requireRedis(connection, write).catch(async (error: unknown) => {
      throw await connectionProblem(server, lastError() ?? error)
    })
  }
}

/** No node of a Redis, or of a cluster, is reached, or none answers. */
const lostWords =
  /max retries per request|^(Command timed out|Connection is closed|None of startup nodes|Failed to refresh slots)/

/** Whether a command's error is an outage of the queue's Redis. An error of our own scripts is none. */
export function isRedisLost(error: unknown, queueUrl: string): boolean {
  if (!(error instanceof Error)) return false
  if (lostWords.test(error.message)) return true
  // The library notes the command with an answer that is an error, and with a command that the end of the connection aborted.
  if ('command' in error) return connectionCauseOf(error) !== 'unknown'
  // A socket's error: Postgres has them too, at another port.
  return 'port' in error && String(error.port) === (firstAddress(queueUrl).port || '6379')
}

/** The last error that the connection reported in an event. */
export function lastErrorOf(connection: Redis | Cluster): () => Error | undefined {
  let last: Error | undefined
  connection.on('error', (error: Error) => {
    last = error
  })
  return () => last
}

async function requireRedis(connection: Redis | Cluster, write: () => Promise<unknown>): Promise<void> {
  const info = parseRedisInfo(await withAnswerTimeout(connection.info()))
  if (isRedisTooOld(info)) throw new Error('too old')
  if (info.get('role') === 'slave') throw new Error('READONLY')
  await withAnswerTimeout(write())
}

/** A server that takes a command and never answers is silent. */
export async function withAnswerTimeout<T>(answer: Promise<T>): Promise<T> {
  if (await endsWithin(answer, ANSWER_TIMEOUT_MS)) return answer
  throw new Error(`no answer within ${ANSWER_TIMEOUT_MS / SECOND} s`)
}

/** Each connection, the first and those that replace it, sends the commands of one turn of the event loop together. */
function withTurnsTogether(redis: Redis): Redis {
  return redis.on('connect', () => writeTurnsTogether(redis.stream))
}

/**
 * The library has a subclass of String. By that alone V8 keeps the methods of all strings in a dictionary, and each `charCodeAt` of the
 * process looks its method up there: 6 % of the client's time in a pull. A method that is often called on String objects brings the
 * fast form back.
 */
function restoreFastStrings(): void {
  const text = Object('0')
  for (let calls = 0; calls < 1000; calls += 1) firstCodeOf(text)
}

const firstCodeOf = (text: string) => text.charCodeAt(0)

restoreFastStrings()
