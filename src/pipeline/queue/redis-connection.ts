import { Cluster, Redis } from 'ioredis'
import { connectionCauseOf } from '../../base/connections/causes.ts'
import { writeTurnsTogether } from '../../base/connections/write-turns-together.ts'
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
  if (!isCluster) return withTurnsTogether(new Redis(first.href, options).on('error', reportedByCall))
  const tls = first.protocol === 'rediss:' ? { tls: {} } : {}
  const redisOptions = { ...options, ...tls, username: first.username, password: decodeURIComponent(first.password) }
  const nodes = urls.map((url) => ({ host: new URL(url).hostname, port: Number(new URL(url).port || 6379) }))
  const cluster = new Cluster(nodes, { redisOptions }).on('error', reportedByCall)
  if (retries.commandTimeout !== undefined) limitCommands(cluster, retries.commandTimeout)
  return cluster
}

/** A connection that is lost is reported by the call that fails; without a listener it would end the process. */
const reportedByCall = () => undefined

/** The library limits a command when it sends it to a node: while no node answers, a command would wait without end. */
function limitCommands(cluster: Cluster, timeoutMs: number): void {
  const send = cluster.sendCommand.bind(cluster)
  cluster.sendCommand = (command, ...to) => {
    command.setTimeout(timeoutMs)
    return send(command, ...to)
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
