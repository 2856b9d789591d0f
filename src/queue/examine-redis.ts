import { Cluster, type Redis } from 'ioredis'
import { clockFinding, type Finding } from '../transfer/finding.ts'
import { connectRedis } from './engine.ts'

const REDIS_OLDEST = [6, 2] as const
const ANSWER_TIMEOUT_MS = 5000

/** Examines every master of a single Redis or of a cluster. Changes nothing. */
export async function examineRedis(subject: string, queueUrl: string): Promise<Finding[]> {
  const redis = connectRedis(queueUrl, { maxRetriesPerRequest: 1 })
  const connectionErrors: string[] = []
  redis.on('error', (error: Error) => connectionErrors.push(messageOf(error)))
  try {
    await withAnswerTimeout(redis.ping())
    if (!(redis instanceof Cluster))
      return [...(await examineMaster(subject, redis)), ...(await examineSingleNode(subject, redis))]
    const masters = redis.nodes('master')
    const findings = await Promise.all(masters.map((master) => examineMaster(nodeNameOf(subject, master), master)))
    return [...(await examineCluster(subject, redis)), ...findings.flat()]
  } catch (error) {
    const text = `cannot be used: ${connectionErrors[0] ?? (error as Error).message}`
    return [{ subject, state: 'unreachable', text, hint: connectionHintFor(text) }]
  } finally {
    redis.disconnect()
  }
}

/** The error of a cluster says little; the error of its last node, which the cluster's error holds, says the reason. */
function messageOf(error: Error): string {
  return 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError.message : error.message
}

function connectionHintFor(text: string): string {
  if (/WRONGPASS|NOAUTH|invalid username/i.test(text)) return 'Correct user and password in QUEUE_URL.'
  if (/cluster support disabled/i.test(text))
    return 'It is a Redis of its own, no cluster: name one address in QUEUE_URL, without ?cluster.'
  if (/ECONNREFUSED/.test(text))
    return 'Nothing listens there: start the server, or correct host and port of QUEUE_URL.'
  return 'See that the server runs, and that QUEUE_URL is right (rediss:// for TLS).'
}

async function withAnswerTimeout<T>(answer: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)),
    ANSWER_TIMEOUT_MS,
  )
  answer.catch(() => undefined) // the answer may fail after the timeout
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}

const nodeNameOf = (subject: string, { options }: Redis) => `${subject} (${options.host}:${options.port})`

/** A node of a cluster that is addressed as a single Redis answers a ping, and refuses every key of another node. */
async function examineSingleNode(subject: string, redis: Redis): Promise<Finding[]> {
  const info = parseInfo(await withAnswerTimeout(redis.info()))
  if (info.get('cluster_enabled') !== '1') return []
  const hint =
    'List its nodes in QUEUE_URL, redis://a:6379,b:6379,c:6379, or add ?cluster to one: redis://a:6379?cluster'
  return [{ subject, state: 'wrong', text: 'it is a node of a Redis Cluster, addressed as if it were alone', hint }]
}

async function examineCluster(subject: string, cluster: Cluster): Promise<Finding[]> {
  const info = parseInfo(String(await withAnswerTimeout(cluster.cluster('INFO'))))
  const masters = `${info.get('cluster_size') ?? 0} masters`
  if (info.get('cluster_state') === 'ok')
    return [{ subject, state: 'well', text: `a Redis Cluster of ${masters}, every slot served` }]
  const hint = 'redis-cli --cluster check HOST:PORT says which slots, redis-cli --cluster fix HOST:PORT mends it.'
  return [{ subject, state: 'wrong', text: `a Redis Cluster of ${masters} that does not serve every slot`, hint }]
}

async function examineMaster(subject: string, master: Redis): Promise<Finding[]> {
  const sentAtMs = Date.now()
  const [seconds, micros] = await withAnswerTimeout(master.time())
  const aheadMs = Number(seconds) * 1000 + Number(micros) / 1000 - (sentAtMs + Date.now()) / 2
  const info = parseInfo(await withAnswerTimeout(master.info()))
  return [
    versionFinding(subject, info),
    ...persistenceFindings(subject, info),
    ...evictionFindings(subject, info),
    clockFinding(subject, aheadMs),
  ]
}

type RedisInfo = ReadonlyMap<string, string>

function parseInfo(text: string): RedisInfo {
  const pairs = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(pairs.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function versionFinding(subject: string, info: RedisInfo): Finding {
  const text = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = text.split('.').map(Number)
  const [oldMajor, oldMinor] = REDIS_OLDEST
  if (major > oldMajor || (major === oldMajor && minor >= oldMinor))
    return { subject, state: 'well', text: `Redis ${text}` }
  const hint = `Upgrade to Redis ${REDIS_OLDEST.join('.')} or newer, or to Valkey.`
  return { subject, state: 'wrong', text: `Redis ${text} is too old`, hint }
}

function persistenceFindings(subject: string, info: RedisInfo): Finding[] {
  if (info.get('role') !== 'master') {
    return [
      { subject, state: 'wrong', text: 'it is a replica: it takes no writes', hint: 'Point QUEUE_URL at the master.' },
    ]
  }
  if (info.get('aof_enabled') !== '1') {
    const hint =
      'redis-cli config set appendonly yes, and appendonly yes in redis.conf: snapshots alone lose minutes of work.'
    return [{ subject, state: 'wrong', text: 'it keeps no append-only file: a crash forgets waiting jobs', hint }]
  }
  if (info.get('aof_last_write_status') === 'err') {
    const hint = 'Look at its disk: it is probably full.'
    return [{ subject, state: 'wrong', text: 'it cannot write its append-only file', hint }]
  }
  return [{ subject, state: 'well', text: 'appendonly is on' }]
}

function evictionFindings(subject: string, info: RedisInfo): Finding[] {
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (policy === 'noeviction') return [{ subject, state: 'well', text: 'maxmemory-policy is noeviction' }]
  const hint = 'redis-cli config set maxmemory-policy noeviction, and the same line in redis.conf.'
  const text = `maxmemory-policy is ${policy}: short of memory, it would throw jobs away`
  return [{ subject, state: 'wrong', text, hint }]
}
