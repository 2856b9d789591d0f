import { Cluster, type Redis } from 'ioredis'
import { connectionCauses, connectionHint } from '../../base/connections/causes.ts'
import { connectionFinding, connectionProblem, type ServerAddress } from '../../base/connections/connection-problem.ts'
import { clockFinding, type Finding, well, wrong } from '../../base/connections/finding.ts'
import { endsWithin } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'
import { connectRedis, failFast } from './redis-connection.ts'

const VARIABLE = 'QUEUE_URL'

/** Examines every master of a single Redis or of a cluster. Changes nothing. */
export async function examineRedis(subject: string, queueUrl: string): Promise<Finding[]> {
  const redis = connectRedis(queueUrl, failFast)
  const lastError = lastErrorOf(redis)
  try {
    await withAnswerTimeout(redis.ping())
    if (!(redis instanceof Cluster))
      return [...(await examineMaster(subject, redis)), ...(await examineSingleNode(subject, redis))]
    const masters = redis.nodes('master')
    const findings = await Promise.all(masters.map((master) => examineMaster(nodeNameOf(subject, master), master)))
    return [...(await examineCluster(subject, redis)), ...findings.flat()]
  } catch (error) {
    const cause = lastError() ?? error
    if (/cluster support disabled/i.test(innermostMessageOf(cause))) {
      const hint = 'Name one address in QUEUE_URL, without ?cluster.'
      return [wrong(subject, 'it is a Redis of its own, no cluster', hint)]
    }
    return [await connectionFinding(subject, { kind: 'Redis', url: queueUrl, variable: VARIABLE }, cause)]
  } finally {
    redis.disconnect()
  }
}

/** The error of a cluster says little; the error of its last node, which the cluster's error holds, says the reason. */
function innermostMessageOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError.message : error.message
}

const nodeNameOf = (subject: string, { options }: Redis) => `${subject} (${options.host}:${options.port})`

/** A node of a cluster that is addressed as a single Redis answers a ping, and refuses every key of another node. */
async function examineSingleNode(subject: string, redis: Redis): Promise<Finding[]> {
  const info = parseRedisInfo(await withAnswerTimeout(redis.info()))
  if (info.get('cluster_enabled') !== '1') return []
  const hint =
    'List its nodes in QUEUE_URL, redis://a:6379,b:6379,c:6379, or add ?cluster to one: redis://a:6379?cluster'
  return [wrong(subject, 'it is a node of a Redis Cluster, addressed as if it were alone', hint)]
}

async function examineCluster(subject: string, cluster: Cluster): Promise<Finding[]> {
  const info = parseRedisInfo(String(await withAnswerTimeout(cluster.cluster('INFO'))))
  const masters = `${info.get('cluster_size') ?? 0} masters`
  if (info.get('cluster_state') === 'ok') return [well(subject, `a Redis Cluster of ${masters}, every slot served`)]
  const hint = 'redis-cli --cluster check HOST:PORT says which slots, redis-cli --cluster fix HOST:PORT mends it.'
  return [wrong(subject, `a Redis Cluster of ${masters} that does not serve every slot`, hint)]
}

async function examineMaster(subject: string, master: Redis): Promise<Finding[]> {
  const sentAtMs = Date.now()
  const [seconds, micros] = await withAnswerTimeout(master.time())
  const aheadMs = Number(seconds) * 1000 + Number(micros) / 1000 - (sentAtMs + Date.now()) / 2
  const info = parseRedisInfo(await withAnswerTimeout(master.info()))
  return [
    versionFinding(subject, info),
    ...persistenceFindings(subject, info),
    ...evictionFindings(subject, info),
    clockFinding(subject, aheadMs),
  ]
}

function versionFinding(subject: string, info: RedisInfo): Finding {
  const text = `Redis ${info.get('redis_version') ?? '0'}`
  if (!isRedisTooOld(info)) return well(subject, text)
  const hint = connectionHint('too-old', VARIABLE)
  return wrong(subject, `${text}: ${connectionCauses['too-old'].words}`, hint)
}

function persistenceFindings(subject: string, info: RedisInfo): Finding[] {
  if (info.get('role') !== 'master') {
    const hint = connectionHint('standby', VARIABLE)
    return [{ subject, state: 'unreachable', text: connectionCauses.standby.words, hint }]
  }
  if (info.get('aof_enabled') !== '1') {
    const hint =
      'redis-cli config set appendonly yes, and appendonly yes in redis.conf: snapshots alone lose minutes of work.'
    return [wrong(subject, 'it keeps no append-only file: a crash forgets waiting jobs', hint)]
  }
  if (info.get('aof_last_write_status') === 'err') {
    const hint = 'Look at its disk: it is probably full.'
    return [wrong(subject, 'it cannot write its append-only file', hint)]
  }
  return [well(subject, 'appendonly is on')]
}

function evictionFindings(subject: string, info: RedisInfo): Finding[] {
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (policy === 'noeviction') return [well(subject, 'maxmemory-policy is noeviction')]
  const hint = 'redis-cli config set maxmemory-policy noeviction, and the same line in redis.conf.'
  const text = `maxmemory-policy is ${policy}: short of memory, it would throw jobs away`
  return [wrong(subject, text, hint)]
}

/** Its error names no cause: the failing connection reported the cause before, in an event. */
export function createRedisCheck(
  queueUrl: string,
  connection: Redis | Cluster,
  write: () => Promise<unknown>,
): () => Promise<void> {
  const lastError = lastErrorOf(connection)
  const server: ServerAddress = { kind: 'Redis', url: queueUrl, variable: VARIABLE }
  return async () => {
    await requireRedis(connection, write).catch(async (error: unknown) => {
      throw await connectionProblem(server, lastError() ?? error)
    })
  }
}

async function requireRedis(connection: Redis | Cluster, write: () => Promise<unknown>): Promise<void> {
  const info = parseRedisInfo(await withAnswerTimeout(connection.info()))
  if (isRedisTooOld(info)) throw new Error('too old')
  if (info.get('role') === 'slave') throw new Error('READONLY')
  await withAnswerTimeout(write())
}

/** The last error that the connection reported in an event. */
function lastErrorOf(connection: Redis | Cluster): () => Error | undefined {
  let last: Error | undefined
  connection.on('error', (error: Error) => {
    last = error
  })
  return () => last
}

/** A server that takes a command and never answers is silent. */
async function withAnswerTimeout<T>(answer: Promise<T>): Promise<T> {
  if (await endsWithin(answer, ANSWER_TIMEOUT_MS)) return answer
  throw new Error(`no answer within ${ANSWER_TIMEOUT_MS / SECOND} s`)
}

const ANSWER_TIMEOUT_MS = 8 * SECOND
/** 6.2: older servers lack commands of the queue's scripts. */
const REDIS_OLDEST = [6, 2] as const

/** The answer of `info`, by name. */
type RedisInfo = ReadonlyMap<string, string>

function parseRedisInfo(text: string): RedisInfo {
  const pairs = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(pairs.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function isRedisTooOld(info: RedisInfo): boolean {
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '0').split('.').map(Number)
  return major < REDIS_OLDEST[0] || (major === REDIS_OLDEST[0] && minor < REDIS_OLDEST[1])
}
