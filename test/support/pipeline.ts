import { Writable } from 'node:stream'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { type Config, readConfig } from '../../config/env.ts'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { type Lane, lanes } from '../../src/budget.ts'
import { addressesOf, openPipeline, type Pipeline } from '../../src/commands/pipeline.ts'
import { produceRun, startWork, type Working } from '../../src/commands/work.ts'
import { createLog } from '../../src/log.ts'
import type { PulledStream } from '../../src/stream.ts'
import type { Run } from '../../src/warehouse/runs.ts'
import { DAY } from '../../src/window.ts'
import { test as base } from './fixtures.ts'
import { type Peer, startPeer } from './peer.ts'

export type Engine = 'redis' | 'postgres'
export const engines: readonly Engine[] = ['redis', 'postgres']

export type Line = {
  readonly pipeline: Pipeline
  readonly config: Config
  /** The environment that a process of its own needs to work on the same line. */
  readonly settings: Readonly<Record<string, string>>
  /** Everything that was logged. */
  readonly logged: () => string
  /** Starts a worker in this process. */
  work(leaseMs?: number): Working
  /** Takes people in. */
  people(...externalIds: string[]): Promise<string[]>
  /** One tick: enqueues whoever is due. */
  tick(kind: 'nightly' | 'sweep' | 'sync' | 'backfill', params?: Record<string, unknown>): Promise<Run>
  /** Resolves when nothing waits and nothing is under way; delayed jobs are not waited for, they go at once. */
  idle(): Promise<void>
  rows(text: string, values?: unknown[]): Promise<Array<Record<string, unknown>>>
  /** Forgets everything the queue holds, as a flushed Redis does. */
  wipeQueue(): Promise<void>
}

type Opened = Line & { close(): Promise<void> }

const producers = { nightly, sweep, sync, backfill }
const tokenKey = Buffer.alloc(32, 7).toString('base64')

/** Files run side by side, each in a worker of its own, and each worker has its part of Redis. */
export async function redisOfOurOwn(): Promise<string> {
  const url = new URL(inject('redisUrl'))
  url.pathname = `/${4 + (Number(process.env['VITEST_POOL_ID'] ?? 1) % 10)}`
  const redis = new Redis(url.href)
  await redis.flushdb()
  redis.disconnect()
  return url.href
}

export type LineOptions = {
  readonly warehouseUrl: string
  readonly queueUrl: string
  readonly upstream: { url: string; clientId?: string; clientSecret?: string }
  readonly settings?: Record<string, string>
  readonly streams?: readonly PulledStream[] | undefined
}

export async function openLine({ warehouseUrl, queueUrl, upstream, settings, streams }: LineOptions): Promise<Opened> {
  const environment = {
    DATABASE_URL: warehouseUrl,
    QUEUE_URL: queueUrl,
    UPSTREAM_URL: upstream.url,
    UPSTREAM_CLIENT_ID: upstream.clientId ?? 'client',
    UPSTREAM_CLIENT_SECRET: upstream.clientSecret ?? 'client-secret',
    TOKEN_KEY: tokenKey,
    DIGEST_SECONDS: '0',
    DRAIN_SECONDS: '1',
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
    addresses: addressesOf(config),
    log,
    onSkewed: fail,
    ...(streams ? { streams } : {}),
  })
  const workings: Working[] = []
  const rows: Line['rows'] = async (text, values) => (await pipeline.pool.query(text, values)).rows
  return {
    pipeline,
    config,
    settings: environment,
    rows,
    logged: () => lines.join(''),
    work(leaseMs) {
      const working = startWork({ pipeline, config, log, onSilent: fail, ...(leaseMs ? { leaseMs } : {}) })
      workings.push(working)
      return working
    },
    async people(...externalIds) {
      const wantedFrom = new Date(Date.now() - config.historyDays * DAY)
      await pipeline.profiles.add(externalIds, { wantedFrom, state: 'active' })
      const found = await Promise.all(externalIds.map((externalId) => pipeline.profiles.find(externalId)))
      return found.map((one) => one?.profileId ?? '')
    },
    async tick(kind, params = {}) {
      const run = await pipeline.runs.start(producers[kind].name, params)
      await produceRun({ pipeline, config, signal: AbortSignal.timeout(30_000) }, run)
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
      if (delayed > 0) await engine.queue(lanes[index] as Lane).promoteJobs() // one backlog per lane, in their order
    }
    return backlogs.reduce((sum, { waiting, active, delayed }) => sum + waiting + active + delayed, 0)
  }
  await expect.poll(busy, { timeout: 25_000, interval: 20 }).toBe(0)
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
  open: (engine: Engine, settings?: Record<string, string>, streams?: readonly PulledStream[]) => Promise<Line>
}

/** A pipeline with every part of it real, on a database of its own, beside a peer that the test holds in its hand. */
export const test = base.extend<Fixtures>({
  peer: async ({}, use) => {
    const peer = await startPeer()
    await use(peer)
    await peer.close()
  },
  open: async ({ warehouseUrl, peer, skip }, use) => {
    const opened: Opened[] = []
    await use(async (engine, settings = {}, streams = undefined) => {
      if (engine === 'redis' && inject('redisUrl') === '')
        skip('no Redis: none given, no Docker engine, no redis-server on the PATH')
      const queueUrl = engine === 'redis' ? await redisOfOurOwn() : warehouseUrl
      const line = await openLine({ warehouseUrl, queueUrl, upstream: peer, settings, streams })
      opened.push(line)
      return line
    })
    for (const line of opened) await line.close()
  },
})
