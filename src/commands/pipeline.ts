import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config/env.ts'
import { streams as catalogue } from '../../config/streams.ts'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import type { BudgetBoard } from '../budget.ts'
import { UsageProblem } from '../errors.ts'
import type { JobContext } from '../job.ts'
import type { Log } from '../log.ts'
import { openPostgresBoard } from '../queue/budget-postgres.ts'
import { openRedisBoard } from '../queue/budget-redis.ts'
import { connectRedis, openQueueEngine, type QueueEngine } from '../queue/engine.ts'
import { createEnqueuer, type Enqueuer } from '../queue/enqueue.ts'
import type { PulledStream } from '../stream.ts'
import { openUpstream, type Upstream } from '../upstream/client.ts'
import { openGate } from '../upstream/gate.ts'
import { type DatabaseClock, startDatabaseClock } from '../warehouse/clock.ts'
import { type Ledger, openLedger } from '../warehouse/ledger.ts'
import { type Outbox, openOutbox } from '../warehouse/outbox.ts'
import { openPool, type Pool } from '../warehouse/pool.ts'
import { openProfiles, type Profiles } from '../warehouse/profiles.ts'
import { openRuns, type Runs } from '../warehouse/runs.ts'
import { openTokenShelf } from '../warehouse/tokens.ts'
import { openWriter, type Writer } from '../warehouse/writer.ts'
import { DAY, SECOND } from '../window.ts'

export const jobs = [syncProfile, backfillProfile, registerProfile, discoverProfiles, eraseProfile]

/** Addresses that are known to be there: given ones, or those of the embedded engines. */
export type Addresses = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly upstream: NonNullable<Config['upstream']>
  readonly tokenKey: Buffer
}

/** Everything a worker, a scheduler or a command works with, opened once and closed in reverse. */
export type Pipeline = {
  readonly pool: Pool
  readonly clock: DatabaseClock
  readonly ledger: Ledger
  readonly outbox: Outbox
  readonly profiles: Profiles
  readonly runs: Runs
  readonly writer: Writer
  readonly upstream: Upstream
  readonly engine: QueueEngine
  readonly queue: Enqueuer
  readonly context: Omit<JobContext, 'signal' | 'lane' | 'runId' | 'lastAttempt' | 'waitsOver'>
  close(): Promise<void>
}

export type PipelineOptions = {
  config: Config
  addresses: Addresses
  log: Log
  /** What is pulled; the catalogue when absent. */
  streams?: readonly PulledStream[]
  onSkewed(error: Error): void
}

export function addressesOf(config: Config): Addresses {
  const { databaseUrl, upstream, tokenKey } = config
  if (!databaseUrl || !upstream || !tokenKey) {
    const missing = [databaseUrl ? '' : 'DATABASE_URL', upstream ? '' : 'UPSTREAM_URL', tokenKey ? '' : 'TOKEN_KEY']
    throw new UsageProblem(`read configuration: ${missing.filter(Boolean).join(', ')} not set`, {
      hint: 'This command works with engines that run already. Everything at once on this machine: vitalsync up. A key: openssl rand -base64 32.',
    })
  }
  return { databaseUrl, queueUrl: config.queueUrl ?? databaseUrl, upstream, tokenKey }
}

export async function openPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { config, addresses, log, onSkewed, streams = catalogue } = options
  const pool = openPool({ databaseUrl: addresses.databaseUrl, connectionsMax: 16, name: 'vitalsync', pipeline: true })
  const clock = await startDatabaseClock(pool, { log, onSkewed })
  const engine = await openQueueEngine(addresses.queueUrl)
  const sleep = (ms: number, signal?: AbortSignal) => wait(ms, undefined, signal ? { signal } : {})
  const budget = openGate({
    board: openBoard(engine, pool, addresses.queueUrl),
    limits: config.budget,
    member: `${hostname()}.${process.pid}.${randomUUID().slice(0, 8)}`,
    clock: clock.now,
    sleep,
  })
  const { url, ...credentials } = addresses.upstream
  const upstream = openUpstream({
    url,
    credentials,
    shelf: openTokenShelf({ pool, key: addresses.tokenKey }),
    budget,
    clock: clock.now,
    random: Math.random,
    sleep,
  })
  const ledger = openLedger({ pool, streams })
  const outbox = openOutbox({ pool, streams, digestMs: config.digestSeconds * SECOND })
  const profiles = openProfiles({ pool, streams })
  const runs = openRuns({ pool })
  const writer = openWriter({ pool, now: clock.now, rowsPerCommit: 2500, commitsAtOnce: 3 })
  const queue = createEnqueuer(engine)
  const forgetJobs = async (profileId: string) => queue.forget(profileId, await runs.scopesOf(profileId))
  const settings = { historyMs: config.historyDays * DAY, windowsAtOnce: config.windowsAtOnce }
  return {
    pool,
    clock,
    ledger,
    outbox,
    profiles,
    runs,
    writer,
    upstream,
    engine,
    queue,
    context: { upstream, ledger, outbox, profiles, writer, forgetJobs, now: clock.now, settings, log },
    async close() {
      await writer.close()
      await upstream.close()
      await budget.close()
      await engine.close()
      clock.close()
      await pool.end()
    },
  }
}

/** The fleet's budget lies where the queue lies; on Postgres beside the ledger. */
export function openBoard(engine: QueueEngine, pool: Pool, queueUrl: string): BudgetBoard {
  if (engine.kind === 'postgres') return openPostgresBoard({ pool })
  const redis = connectRedis(queueUrl, { maxRetriesPerRequest: 1, connectTimeout: 5000 })
  redis.on('error', () => undefined) // the gate goes on alone, with a part of the budget, and tries again
  return openRedisBoard({ redis })
}
