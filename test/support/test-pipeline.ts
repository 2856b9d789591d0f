import { Writable } from 'node:stream'
import { Redis } from 'ioredis'
import pg from 'pg'
import { inject, vi } from 'vitest'
import { type Config, readConfig } from '../../config/env.ts'
import type { variables } from '../../config/variables.ts'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import { DAY } from '../../src/base/time/units.ts'
import { requireGivenAddresses } from '../../src/operations/addresses.ts'
import { openPipeline, type Pipeline } from '../../src/operations/pipeline.ts'
import { type RunningWorker, startWorker } from '../../src/operations/processes/start-worker.ts'
import { produceRun } from '../../src/operations/produce-run.ts'
import { type Lane, lanes } from '../../src/pipeline/fleet/budget.ts'
import { queuesInUse } from '../../src/pipeline/queue/queues-in-use.ts'
import type { Catalogue } from '../../src/pipeline/transfer/stream.ts'
import type { Run } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { test as base, soon } from './fixtures.ts'
import { needRedis } from './own-redis.ts'
import { type Peer, startPeer } from './peer.ts'
import { testShards } from './test-pool.ts'

export type QueueKind = 'redis' | 'postgres'
export const queueKinds: readonly QueueKind[] = ['redis', 'postgres']

export type TestPipeline = {
  readonly pipeline: Pipeline
  readonly config: Config
  /** The environment with which another process works on the same pipeline. */
  readonly settings: Readonly<Record<string, string>>
  readonly log: Log
  /** The whole log. */
  readonly logged: () => string
  /** Starts a worker in this process. */
  work(leaseMs?: number): RunningWorker
  /** Adds profiles. */
  addProfiles(...externalIds: string[]): Promise<string[]>
  /** One tick of the schedule: creates a run and enqueues the due profiles. */
  tick(kind: 'nightly' | 'sweep' | 'sync' | 'backfill', params?: Record<string, unknown>): Promise<Run>
  /** Resolves when no job waits and no job runs; delayed jobs are promoted, so that they run at once. */
  idle(): Promise<void>
  rows(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** Deletes all jobs, as a flush of Redis does. */
  wipeQueue(): Promise<void>
}

type Opened = TestPipeline & { close(): Promise<void> }

const producers = { nightly, sweep, sync, backfill }
const tokenKey = Buffer.alloc(32, 7).toString('base64')

/** Test files run in parallel, each in a worker process with a Redis database of its own. */
export async function redisOfOurOwn(): Promise<string> {
  const url = new URL(inject('redisUrl'))
  url.pathname = `/${4 + (Number(process.env['VITEST_POOL_ID'] ?? 1) % 10)}`
  const redis = new Redis(url.href)
  await redis.flushdb()
  redis.disconnect()
  return url.href
}

/** Only variables that exist: a misspelt one would leave the test without its setting. */
type TestSettings = { readonly [Name in keyof typeof variables]?: string }

export type TestPipelineOptions = {
  readonly warehouseUrl: string
  readonly queueUrl: string
  readonly upstream: { url: string; clientId?: string; clientSecret?: string }
  readonly settings?: TestSettings
  readonly catalogue?: Catalogue | undefined
}

export async function openTestPipeline({
  warehouseUrl,
  queueUrl,
  upstream,
  settings,
  catalogue,
}: TestPipelineOptions): Promise<Opened> {
  const environment = {
    DATABASE_URL: warehouseUrl,
    QUEUE_URL: queueUrl,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_CLIENT_ID: upstream.clientId ?? 'client',
    UPSTREAM_CLIENT_SECRET: upstream.clientSecret ?? 'client-secret',
    TOKEN_KEY: tokenKey,
    WAREHOUSE_SHARDS: String(testShards),
    REREAD_SECONDS: '0',
    SECOND_READING_SECONDS: '0',
    DRAIN_SECONDS: '1',
    // With several buckets a worker may enqueue the last one of a nightly, and would begin its sentinel: requests that no test expects.
    SENTINEL_SHARE: '0',
    LOG_LEVEL: 'silent',
    ...settings,
  }
  const config = readConfig(environment)
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = createLog({ level: 'debug', destination })
  const pipeline = await openPipeline({
    config,
    addresses: requireGivenAddresses(config),
    log,
    onSkewed: fail,
    ...(catalogue ? { catalogue } : {}),
  })
  const workings: RunningWorker[] = []
  const rows: TestPipeline['rows'] = async (text, values) => (await pipeline.pool.query(text, values)).rows
  return {
    pipeline,
    config,
    settings: environment,
    log,
    rows,
    logged: () => lines.join(''),
    work(leaseMs) {
      const working = startWorker({ pipeline, config, log, onSilent: fail, ...(leaseMs ? { leaseMs } : {}) })
      workings.push(working)
      return working
    },
    async addProfiles(...externalIds) {
      const wantedFrom = new Date(Date.now() - config.historyDays * DAY)
      await pipeline.profiles.add(externalIds, { wantedFrom, state: 'active' })
      const found = await Promise.all(externalIds.map((externalId) => pipeline.profiles.findId(externalId)))
      return found.map((profile) => profile?.profileId ?? '')
    },
    async tick(kind, params = {}) {
      const run = await pipeline.runs.create(producers[kind].name, params)
      await produceRun({ pipeline, config, signal: AbortSignal.timeout(120_000) }, run, { untilAll: true })
      return run
    },
    idle: () => idle(pipeline),
    wipeQueue: () => wipe(config.queueUrl ?? ''),
    async close() {
      for (const working of workings) await working.close()
      await pipeline.close()
    },
  }
}

function fail(problem: Error): never {
  throw problem
}

async function idle({ queue, engine }: Pipeline): Promise<void> {
  const busy = async () => {
    const backlogs = await Promise.all(lanes.map((lane) => queue.backlog(lane)))
    for (const [index, { delayed }] of backlogs.entries()) {
      const lane = lanes[index] as Lane // one backlog per lane, in their order
      if (delayed > 0) for (const queue of await queuesInUse(engine, lane)) await queue.promoteJobs()
    }
    return backlogs.reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0)
  }
  await vi.waitUntil(async () => (await busy()) === 0, soon)
}

async function wipe(queueUrl: string): Promise<void> {
  if (queueUrl.startsWith('redis')) {
    const redis = new Redis(queueUrl)
    await redis.flushdb()
    redis.disconnect()
    return
  }
  const client = new pg.Client({ connectionString: queueUrl })
  await client.connect()
  await client.query('truncate bullmq.job cascade')
  await client.end()
}

type Fixtures = {
  peer: Peer
  open: (engine: QueueKind, settings?: TestSettings, catalogue?: Catalogue) => Promise<TestPipeline>
}

/** A complete pipeline on a database of its own, with a `Peer` as upstream. */
export const test = base.extend<Fixtures>({
  peer: async ({}, use) => {
    const peer = await startPeer()
    await use(peer)
    await peer.close()
  },
  open: async ({ warehouseUrl, peer, skip }, use) => {
    const opened: Opened[] = []
    await use(async (engine, settings = {}, catalogue = undefined) => {
      if (engine === 'redis') needRedis(skip)
      const queueUrl = engine === 'redis' ? await redisOfOurOwn() : warehouseUrl
      const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: peer, settings, catalogue })
      opened.push(line)
      return line
    })
    for (const line of opened) await line.close()
  },
})
