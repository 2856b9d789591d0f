import { Cluster, type Redis } from 'ioredis'
import { clockFinding, type Finding } from '../finding.ts'
import { connectRedis } from './engine.ts'

const REDIS_OLDEST = [6, 2] as const
const ANSWER_TIMEOUT_MS = 5000

/** Looks at every master of a Redis, alone or in a cluster; changes nothing. */
export async function examineRedis(subject: string, queueUrl: string): Promise<Finding[]> {
  const redis = connectRedis(queueUrl, { maxRetriesPerRequest: 1, connectTimeout: ANSWER_TIMEOUT_MS })
  const troubles: string[] = []
  redis.on('error', (error: Error) => troubles.push(error.message))
  try {
    await answered(redis.ping())
    const masters = redis instanceof Cluster ? redis.nodes('master') : [redis]
    const findings = await Promise.all(masters.map((master) => examineMaster(nameOf(subject, master, masters), master)))
    return findings.flat()
  } catch (error) {
    const text = `cannot be used: ${troubles[0] ?? (error as Error).message}`
    return [{ subject, state: 'unreachable', text, hint: hintFor(text) }]
  } finally {
    redis.disconnect()
  }
}

function hintFor(text: string): string {
  if (/WRONGPASS|NOAUTH|invalid username/i.test(text)) return 'Mend user and password in QUEUE_URL.'
  if (/ECONNREFUSED/.test(text)) return 'Nothing listens there: start the server, or mend host and port of QUEUE_URL.'
  return 'See that the server runs, and that QUEUE_URL is right (rediss:// for TLS).'
}

async function answered<T>(asked: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`no answer within ${ANSWER_TIMEOUT_MS / 1000} s`)),
    ANSWER_TIMEOUT_MS,
  )
  asked.catch(() => undefined) // when it fails after it was given up
  return Promise.race([asked, late.promise]).finally(() => clearTimeout(timer))
}

function nameOf(subject: string, { options }: Redis, masters: readonly unknown[]): string {
  return masters.length > 1 ? `${subject} (${options.host}:${options.port})` : subject
}

async function examineMaster(subject: string, master: Redis): Promise<Finding[]> {
  const askedAtMs = Date.now()
  const [seconds, micros] = await answered(master.time())
  const aheadMs = Number(seconds) * 1000 + Number(micros) / 1000 - (askedAtMs + Date.now()) / 2
  const info = parseInfo(await answered(master.info()))
  return [
    version(subject, info),
    ...persistence(subject, info),
    ...eviction(subject, info),
    clockFinding(subject, aheadMs),
  ]
}

type Info = ReadonlyMap<string, string>

function parseInfo(text: string): Info {
  const pairs = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(pairs.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function version(subject: string, info: Info): Finding {
  const text = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = text.split('.').map(Number)
  const [oldMajor, oldMinor] = REDIS_OLDEST
  if (major > oldMajor || (major === oldMajor && minor >= oldMinor))
    return { subject, state: 'well', text: `Redis ${text}` }
  const hint = `Upgrade to Redis ${REDIS_OLDEST.join('.')} or newer, or to Valkey.`
  return { subject, state: 'wrong', text: `Redis ${text} is too old`, hint }
}

function persistence(subject: string, info: Info): Finding[] {
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

function eviction(subject: string, info: Info): Finding[] {
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  if (policy === 'noeviction') return [{ subject, state: 'well', text: 'maxmemory-policy is noeviction' }]
  const hint = 'redis-cli config set maxmemory-policy noeviction, and the same line in redis.conf.'
  const text = `maxmemory-policy is ${policy}: short of memory, it would throw jobs away`
  return [{ subject, state: 'wrong', text, hint }]
}
