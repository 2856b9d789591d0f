import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config } from '../../config/env.ts'
import { catalogue as defaultCatalogue } from '../../config/streams.ts'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { registerProfile } from '../../jobs/register-profile.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { verifyProfile } from '../../jobs/verify-profile.ts'
import { type CloseStack, openCloseStack } from '../base/close-stack.ts'
import type { Log } from '../base/log.ts'
import { requireDirectConnection } from '../base/postgres/direct-connection.ts'
import { sleep } from '../base/sleep.ts'
import { DAY, SECOND } from '../base/time/units.ts'
import { openQueueEngine } from '../pipeline/queue/engine.ts'
import { createEnqueuer } from '../pipeline/queue/enqueue.ts'
import { openBudgetStore } from '../pipeline/queue/open-budget-store.ts'
import type { Catalogue } from '../pipeline/transfer/stream.ts'
import { accountDigest, openUpstream } from '../pipeline/upstream/client.ts'
import { openRateLimiter } from '../pipeline/upstream/limits/rate-limiter.ts'
import { createDivision } from '../pipeline/warehouse/divided/division.ts'
import { createLedger } from '../pipeline/warehouse/ledger/coverage-ledger.ts'
import { refreshSettleTimes } from '../pipeline/warehouse/ledger/settle-times.ts'
import { createOutbox } from '../pipeline/warehouse/outbox/outbox.ts'
import { startDatabaseClock } from '../pipeline/warehouse/postgres/database-clock.ts'
import { openWarehousePool, type Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter } from '../pipeline/warehouse/readings/reading-writer.ts'
import { createDriftWatch } from '../pipeline/warehouse/readings/stored-drift.ts'
import { createLiveWorkers } from '../pipeline/warehouse/runs/live-workers.ts'
import { createRuns } from '../pipeline/warehouse/runs/stored-runs.ts'
import { createPostgresTokenStore } from '../pipeline/warehouse/tokens/token-store.ts'
import { createVerification } from '../pipeline/work/verify-window.ts'
import type { EngineAddresses } from './addresses.ts'
import { knownRecordsOf } from './contract/known-records.ts'
import { requireMigrated } from './migrate-warehouse.ts'

export const jobs = [syncProfile, backfillProfile, registerProfile, discoverProfiles, eraseProfile, verifyProfile]

/** Everything a worker, a scheduler or a command works with; closed in the reverse of the order of opening. */
export type Pipeline = Awaited<ReturnType<typeof openPipeline>>

type PipelineOptions = {
  config: Config
  addresses: EngineAddresses
  log: Log
  /** The streams; those of `config/streams.ts` when absent. */
  catalogue?: Catalogue
  onSkewed(error: Error): void
}

/** One statement that is not answered, and a little more. */
const PART_CLOSE_MAX_MS = 30 * SECOND

/** A part that cannot be opened closes the parts that were opened before it. */
export async function openPipeline(options: PipelineOptions) {
  const closeStack = openCloseStack(PART_CLOSE_MAX_MS)
  try {
    return { ...(await openParts(options, closeStack)), close: closeStack.close }
  } catch (error) {
    await closeStack.close().catch(() => undefined) // the first error is the cause
    throw error
  }
}

async function openParts(options: PipelineOptions, closeStack: CloseStack) {
  const { config, addresses, log, catalogue = defaultCatalogue } = options
  const { databaseUrl, queueUrl, tokenKeys } = addresses
  await requireDirectConnection(databaseUrl, 'DATABASE_URL')
  if (queueUrl !== databaseUrl && /^postgres/.test(queueUrl)) await requireDirectConnection(queueUrl, 'QUEUE_URL')
  const { pool, clock } = await openWarehouse(options, closeStack)
  const statementTimeoutMs = config.statementMs
  const engineOptions = { parts: config.queueParts, statementTimeoutMs, traced: config.otlp !== undefined }
  const engine = closeStack.add(await openQueueEngine(queueUrl, engineOptions), 'queue')
  const rateLimiter = openRateLimiter({
    store: openBudgetStore(engine, pool, queueUrl),
    limits: config.budget,
    member: `${hostname()}.${process.pid}.${randomUUID().slice(0, 8)}`,
    clock: clock.now,
    sleep,
  })
  closeStack.add(rateLimiter, 'rate limiter')
  const drift = createDriftWatch({ pool, knownOf: knownRecordsOf })
  const { url, ...credentials } = addresses.upstream
  const tokenStore = createPostgresTokenStore({ pool, keys: tokenKeys })
  const upstream = openUpstream({
    url,
    credentials,
    tokenStore,
    rateLimiter,
    clock: clock.now,
    random: Math.random,
    sleep,
    onOddError({ operation, externalId, names }) {
      const stream = catalogue.pulled.find((pulled) => pulled.operation.name === operation.name)
      if (stream && externalId !== undefined) drift.noteError(stream, externalId, names)
    },
  })
  closeStack.add(upstream, 'upstream')
  const { settle, belief } = config
  const account = accountDigest(url, credentials.clientId)
  const commits = { rowsPerCommit: 2500, commitsAtOnce: 3 }
  const writer = openReadingWriter({ pool, now: clock.now, ...commits, belief, settle, account, drift })
  closeStack.add(writer, 'reading writer')
  const queue = createEnqueuer(engine)
  const stores = createStores({ pool, catalogue, tokenKeys, now: clock.now }, config)
  const { runs, ...jobStores } = stores
  const forgetJobs = async (profileId: string) => queue.removeWaiting(await runs.listOrdersOf(profileId))
  const verification = createVerification({ pool, streams: catalogue.pulled, upstream, writer })
  const context = {
    ...jobStores,
    upstream,
    writer,
    verification,
    forgetJobs,
    now: clock.now,
    pause: sleep,
    settings: jobSettingsOf(config),
    log,
  }
  const liveWorkers = createLiveWorkers({ pool })
  const parts = { tokenKeys, pool, clock, rateLimiter, engine, queue, upstream, writer, context }
  return {
    ...stores,
    ...parts,
    liveWorkers,
    /** Measures how late upstream is, by what the writer has counted. To be called every few seconds. */
    refreshSettleTimes: () => refreshSettleTimes({ pool, account, settle, streams: catalogue.pulled }),
    /** Learns what of upstream's novelties is settled, and returns what is to be reported. To be called every few seconds. */
    refreshDrift: () => drift.refresh(clock.now()),
  }
}

async function openWarehouse(
  { config, addresses: { databaseUrl }, log, onSkewed }: PipelineOptions,
  closeStack: CloseStack,
) {
  const pool = openWarehousePool({
    databaseUrl,
    connectionsMax: 16,
    name: 'vitalsync',
    pipeline: true,
    statementTimeoutMs: config.statementMs,
    division: createDivision(config.warehouseShards),
  })
  closeStack.add({ close: () => pool.end() }, 'warehouse pool')
  const newer = await requireMigrated(pool, databaseUrl)
  if (newer.length > 0) log.warn({ migrations: newer }, 'works on the tables of a newer version of vitalsync')
  const clock = closeStack.add(await startDatabaseClock(pool, { log, onSkewed }), 'database clock')
  return { pool, clock }
}

const jobSettingsOf = ({ historyDays, windowsAtOnce, belief }: Config) => ({
  historyMs: historyDays * DAY,
  windowsAtOnce,
  secondReadingMs: belief.spacingMs,
})

function createStores(
  given: { pool: Pool; catalogue: Catalogue; tokenKeys: readonly Buffer[]; now: () => number },
  { settle }: Config,
) {
  const { pool, catalogue, tokenKeys, now } = given
  const firstReadingMs = settle.intervalsMs[0] ?? 0
  return {
    ledger: createLedger({ pool, catalogue, firstReadingMs }),
    outbox: createOutbox({ pool, catalogue, firstReadingMs, now }),
    profiles: createProfiles({ pool, catalogue, tokenKeys }),
    runs: createRuns({ pool }),
  }
}
