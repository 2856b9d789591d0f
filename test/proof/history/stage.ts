import { Redis } from 'ioredis'
import pg from 'pg'
import { readConfig } from '../../../config/env.ts'
import type { CloseStack } from '../../../src/base/close-stack.ts'
import { sandboxCredentialsOf } from '../../../src/base/contract/sandbox-credentials.ts'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../../src/base/log.ts'
import { DAY, MINUTE } from '../../../src/base/time/units.ts'
import { requireGivenAddresses } from '../../../src/operations/addresses.ts'
import { openPipeline } from '../../../src/operations/pipeline.ts'
import { produceRun } from '../../../src/operations/produce-run.ts'
import { type Lane, lanes } from '../../../src/pipeline/fleet/budget.ts'
import { startSilentProxy } from '../../support/silent-proxy.ts'
import { type App, type People, pushWhile, startRun, versionOf } from './app.ts'
import { startDamagedPostgres, startDamagedRedis } from './engines.ts'
import type { FaultName } from './fault-plan.ts'
import { SANDBOX_SECRET, startFleet, startServiceMember } from './fleet.ts'
import { outdateReading, overtakeReading } from './held-readings.ts'
import { openHistory } from './history.ts'
import type { Damage } from './inject.ts'
import { openJumpingClocks } from './jumping-clock.ts'
import { openRecordingProxy } from './recording-proxy.ts'
import { SETTLE_SECONDS } from './rest.ts'
import { openSandboxControl, type SandboxControl } from './sandbox-control.ts'
import { STARTS_WITHIN_MS, until } from './until.ts'
import { installWitness } from './witness.ts'

export type QueueKind = 'redis' | 'postgres'
type StageOptions = { readonly seed: string; readonly queue: QueueKind; readonly folder: string }

/** Everything that a run needs, started and at work. */
export type Stage = {
  readonly app: App
  readonly people: People
  readonly damage: Damage
  readonly control: SandboxControl
  readonly databaseUrl: string
  readonly serviceDatabaseUrl: string
  /** Whether this machine can inject the fault. */
  isPossible(fault: FaultName): boolean
}

const PEOPLE = 6
const HISTORY_DAYS = 8

const settings = {
  TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
  WAREHOUSE_SHARDS: '4',
  REREAD_SECONDS: '0',
  SECOND_READING_SECONDS: '0',
  SETTLE_MIN_SECONDS: String(SETTLE_SECONDS),
  SETTLE_MAX_SECONDS: String(SETTLE_SECONDS),
  STATEMENT_SECONDS: '2',
  DRAIN_SECONDS: '1',
  HISTORY_DAYS: String(HISTORY_DAYS),
  CONCURRENCY: '4',
  SWEEP_CRON: '* * * * *',
  LOG_LEVEL: 'info',
}

export async function openStage({ seed, queue, folder }: StageOptions, closeStack: CloseStack): Promise<Stage> {
  const postgres = closeStack.add(await startDamagedPostgres(), 'Postgres')
  const [databaseUrl, serviceDatabaseUrl] = await createDatabases(postgres.url)
  const redis = queue === 'redis' ? await startDamagedRedis() : undefined
  if (redis) closeStack.add(redis, 'Redis')
  const queueUrl = redis?.url ?? databaseUrl
  const port = await freePort()
  const servers = { databaseUrl, queueUrl, serviceDatabaseUrl }
  const service = closeStack.add(await startServiceMember({ folder, servers, port, seed, people: PEOPLE }), 'service')
  const credentials = sandboxCredentialsOf(SANDBOX_SECRET)
  const control = openSandboxControl(`http://127.0.0.1:${port}`, credentials)
  await untilDerived(control)
  const history = await openHistory(folder)
  const upstream = closeStack.add(await startSilentProxy(control.url), 'way to the service')
  const recording = { serviceUrl: control.url, history, versionOf, isLostTo: upstream.isSilentTo }
  const proxy = closeStack.add(await openRecordingProxy(recording), 'proxy')
  upstream.redirect(proxy.url)
  const { clientId, clientSecret } = credentials
  const shared = { ...settings, UPSTREAM_CLIENT_ID: clientId, UPSTREAM_CLIENT_SECRET: clientSecret }
  const addresses = { DATABASE_URL: databaseUrl, QUEUE_URL: queueUrl, UPSTREAM_URL: upstream.url }
  const app = await openApp({ seed, history, control, env: { ...shared, ...addresses } }, closeStack)
  const people = await addPeople(app, control)
  const clockOf = openJumpingClocks(folder)
  const fleet = closeStack.add(
    await startFleet({ folder, servers, settings: shared, upstreamUrl: upstream.url, clockOf }),
    'fleet',
  )
  await firstSync(app)
  const damage: Damage = {
    fleet,
    service,
    upstream,
    postgres,
    redis,
    history,
    control: whenThere(control),
    emptyQueue: emptierOf(app),
    pushWhile: (fault) => pushWhile(app, people, fault),
    giveWork: () => startRun(app, 'sync', {}),
    overtakeReading: (draw) => overtakeReading(app, people, { held: proxy.held, control, draw }),
    outdateReading: (draw) => outdateReading(app, people, { held: proxy.held, control, draw }),
  }
  const impossible = new Set<FaultName>([
    ...(postgres.hasSmallDisk ? [] : ['full-disk' as const]),
    ...(clockOf ? [] : ['jump-clock' as const]),
    ...(redis ? [] : ['kill-redis' as const]),
  ])
  const isPossible = (fault: FaultName) => !impossible.has(fault)
  return { app, people, damage, control, databaseUrl, serviceDatabaseUrl, isPossible }
}

/** A service that another fault has killed is back soon. */
const whenThere =
  ({ control }: SandboxControl): SandboxControl['control'] =>
  async (...request) => {
    await until(async () => (await control('GET', '/clock')) !== undefined, STARTS_WITHIN_MS)
    return control(...request)
  }

async function createDatabases(urlOf: (database: string) => string): Promise<[string, string]> {
  const admin = new pg.Client({ connectionString: urlOf('postgres') })
  await admin.connect()
  await admin.query('create database warehouse')
  await admin.query('create database service')
  await admin.end()
  const databaseUrl = urlOf('warehouse')
  const folder = new URL('../../../src/pipeline/warehouse/migrations/', import.meta.url)
  await applyMigrations({ databaseUrl, folder, schema: 'vitalsync' })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await installWitness(client)
  await client.end()
  return [databaseUrl, urlOf('service')]
}

/** Until the service answers, and has derived from the logs of its people. */
async function untilDerived({ control }: SandboxControl): Promise<void> {
  const hasDerived = async () => (await control('POST', '/derived'))['derived'] === true
  if (!(await until(hasDerived, STARTS_WITHIN_MS))) throw new Error('start service: no answer within ten minutes')
}

type AppParts = Pick<App, 'seed' | 'history'> & { control: SandboxControl; env: Record<string, string> }

async function openApp({ seed, history, control, env }: AppParts, closeStack: CloseStack): Promise<App> {
  const config = readConfig(env)
  const log = createLog({ level: 'silent' })
  const onSkewed = (error: Error) => {
    throw error
  }
  const pipeline = await openPipeline({ config, addresses: requireGivenAddresses(config), log, onSkewed })
  closeStack.add(pipeline, 'pipeline of the app')
  const historyFromMs = Math.floor(Date.now() / DAY) * DAY - HISTORY_DAYS * DAY
  const { uploadElsewhere } = control
  return { pipeline, config, settings: env, history, seed, historyFromMs, uploadElsewhere }
}

async function addPeople({ pipeline, historyFromMs }: App, control: SandboxControl): Promise<People> {
  const names = await control.people()
  await pipeline.profiles.add(names, { wantedFrom: new Date(historyFromMs), state: 'active' })
  const found = await Promise.all(names.map((name) => pipeline.profiles.findId(name)))
  const ids = new Map(names.flatMap((name, index) => (found[index] ? [[name, found[index].profileId] as const] : [])))
  return { living: new Set(names), ids, erasing: new Map(), revisedElsewhere: new Set(), items: new Map(), pushing: [] }
}

/** The faults begin when something is stored. */
async function firstSync({ pipeline, config }: App): Promise<void> {
  const run = await pipeline.runs.create('sync', {})
  await produceRun({ pipeline, config, signal: AbortSignal.timeout(MINUTE) }, run, { untilAll: true })
  const isDone = async () => (await pipeline.runs.get(run.id))?.state === 'done'
  if (!(await until(isDone, STARTS_WITHIN_MS))) throw new Error('first sync: not done after ten minutes')
}

const EMPTY_TRIES_MAX = 50

/** A queue that is empty already loses nothing: runs are made until there are jobs. */
function emptierOf({ pipeline, config }: App): () => Promise<number> {
  const jobsOf = async (lane: Lane) => {
    const { waiting, active, delayed } = await pipeline.queue.backlog(lane)
    return waiting + active + delayed
  }
  const jobs = async () => (await Promise.all(lanes.map(jobsOf))).reduce((sum, count) => sum + count, 0)
  return async () => {
    for (let tries = 1; tries <= EMPTY_TRIES_MAX; tries += 1) {
      // A sync of a fleet that has read everything would make no job.
      const again = { from: Date.now() - DAY, to: Date.now(), again: true }
      const run = await pipeline.runs.create('backfill', again)
      await produceRun({ pipeline, config, signal: AbortSignal.timeout(MINUTE) }, run, { untilAll: true })
      const lost = await jobs()
      if (lost === 0) continue
      await wipe(config.queueUrl ?? '')
      return lost
    }
    return 0
  }
}

async function wipe(queueUrl: string): Promise<void> {
  if (queueUrl.startsWith('redis')) {
    const redis = new Redis(queueUrl)
    redis.on('error', () => undefined) // the command fails with the error
    return redis
      .flushall()
      .finally(() => redis.disconnect())
      .then(() => undefined)
  }
  const client = new pg.Client({ connectionString: queueUrl })
  client.on('error', () => undefined) // the query under way fails with the error
  await client.connect()
  await client.query('truncate bullmq.job cascade').finally(() => client.end())
}
