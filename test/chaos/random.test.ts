import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, inject } from 'vitest'
import { pulledStreams } from '../../config/streams.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { createLog } from '../../src/base/log.ts'
import { HOUR } from '../../src/base/time/units.ts'
import type { FaultRule } from '../../src/service/sandbox/faults/fault-rules.ts'
import { startSandbox } from '../../src/service/start-sandbox.ts'
import { soon } from '../support/fixtures.ts'
import { openOwnRedis } from '../support/own-redis.ts'
import { openTestPipeline, type QueueKind, queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'
import { answers, crash, startWarehouse, succeeds } from './crash-postgres.ts'
import { startWorkerProcess, type WorkerProcess } from './workers.ts'

/** How long faults happen. `npm run chaos` sets a longer time. */
const seconds = Number(process.env['CHAOS_SECONDS'] ?? 6)
const isLong = process.env['CHAOS_SECONDS'] !== undefined
const chosen: readonly QueueKind[] = isLong ? queueKinds : [inject('redisUrl') === '' ? 'postgres' : 'redis']
const seed = process.env['CHAOS_SEED'] ?? String(Math.trunc(Date.now() / 1000))

const trouble: FaultRule[] = [
  { name: 'latency', rate: 0.3, settings: { delayMs: 60 } },
  { name: 'reset', rate: 0.05 },
  { name: 'lost-answer', rate: 0.05 },
  { name: 'cut-body', rate: 0.03 },
  { name: 'malformed-body', rate: 0.03 },
  { name: 'error-500', rate: 0.03 },
  { name: 'error-502', rate: 0.03 },
  { name: 'expired-token', rate: 0.02 },
  { name: 'duplicates', rate: 0.2 },
  { name: 'exclusive-end', rate: 0.3 },
  { name: 'throttle', rate: 0.01, settings: { retryAfterSeconds: 1 } },
]

function createChance(from: string): (below: number) => number {
  let turns = 0
  return (below) => createHash('sha256').update(`${from}/${turns++}`).digest().readUInt32BE(0) % below
}

/** The records that only upstream or only the warehouse holds of a profile, compared by their texts. */
async function differences(
  line: TestPipeline,
  externalId: string,
  ledger: Record<string, object[]>,
): Promise<unknown[]> {
  const found: unknown[] = []
  for (const stream of pulledStreams) {
    const rows = await line.rows(
      `select r.body from vitalsync.${stream.table} r join vitalsync.profiles p on p.id = r.profile_id
       where p.external_id = $1 and r.gone_at is null`,
      [externalId],
    )
    const here = rows.map((row) => textOf(JSON.parse(String(row['body'])))).sort()
    const there = (ledger[stream.name] ?? []).map(textOf).sort()
    const missing = there.filter((text) => !here.includes(text))
    const extra = here.filter((text) => !there.includes(text))
    if (missing.length + extra.length > 0 || here.length !== there.length)
      found.push({ stream: stream.name, missing, extra })
  }
  return found
}

/** Equal records have equal texts, whatever the order of their keys. */
function textOf(record: unknown): string {
  return JSON.stringify(record, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

for (const engine of chosen) {
  test(`whatever happens, in the end the warehouse holds what upstream holds (${engine}, seed ${seed})`, {
    timeout: 120_000 + seconds * 2000,
  }, async ({ serviceUrl, skip, onTestFinished }) => {
    const { databaseUrl: warehouseUrl, close } = await startWarehouse()
    onTestFinished(close)
    const redis = engine === 'redis' ? await openOwnRedis({ skip, onTestFinished }) : undefined
    const queueUrl = redis?.url ?? warehouseUrl
    const log = createLog({ level: 'silent' })
    const sandbox = await startSandbox({ databaseUrl: serviceUrl, port: 0, profiles: 8, seed, days: 3, log })
    onTestFinished(() => sandbox.close())
    await sandbox.derived()
    const settings = { HISTORY_DAYS: '30', CONCURRENCY: '4', BUDGET_IN_FLIGHT: '24' }
    const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: sandbox, settings })
    onTestFinished(() => line.close())
    const { discover, names } = await discovery(line)
    await discover()
    const chance = createChance(`${seed}/${engine}`)
    const workers: WorkerProcess[] = []
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.kill()))))
    const erased = names()[chance(names().length)] ?? ''
    sandbox.faults.set(trouble)

    const dieAndComeBack = [
      async () => {
        await crash(line)
        await expect.poll(() => answers(warehouseUrl), soon).toBe(true)
        await expect.poll(() => succeeds(line.rows('select 1')), soon).toBe(true)
      },
      async () => {
        await redis?.kill()
        await redis?.startAgain()
        await expect.poll(() => succeeds(line.pipeline.queue.backlog('manual')), soon).toBe(true)
      },
    ]
    const acts: Array<() => Promise<unknown>> = [
      async () => workers.push(await startWorkerProcess(line.settings)),
      async () => workers.splice(chance(workers.length + 1), 1)[0]?.kill(),
      async () => workers[chance(workers.length + 1)]?.pause(),
      async () => workers[chance(workers.length + 1)]?.wake(),
      async () => line.wipeQueue(),
      async () => line.tick('sync'),
      async () => line.tick('nightly'),
      async () => line.tick('sweep'),
      async () => line.tick('backfill', { from: Date.now() - 400 * HOUR, to: Date.now() }),
      async () => push(line, names(), chance),
      ...dieAndComeBack,
    ]
    await acts[0]?.()
    for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
      await acts[chance(acts.length)]?.()
      await wait(chance(150)) // faults come at random times
    }
    for (const die of dieAndComeBack) await die() // each at least once, however short the test was

    // Faults end: paused workers continue, and syncs follow until no window is due.
    sandbox.faults.set([])
    for (const worker of workers) worker.wake()
    await acts[0]?.()
    await line.tick('sync', { profileIds: [(await line.pipeline.profiles.findId(erased))?.profileId ?? '0'] })
    const profileId = (await line.pipeline.profiles.findId(erased))?.profileId ?? '0'
    const signal = AbortSignal.timeout(120_000)
    const how = { lane: 'manual', lastAttempt: false, signal } as const
    await eraseProfile.run({ profileId }, { ...line.pipeline.context, ...how })
    await sandbox.derived()
    for (let round = 0; round < 3; round += 1) {
      await line.rows('update vitalsync.refusals set next_try_at = now()')
      await line.tick('sync')
      await line.idle()
      await sandbox.derived()
    }

    for (const externalId of names().filter((name) => name !== erased)) {
      const ledger = await sandbox.ledger(externalId)
      if (!ledger) throw new Error(`upstream has lost ${externalId}`)
      expect(await differences(line, externalId, ledger), externalId).toEqual([])
    }
    expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
    expect(await line.rows('select 1 from vitalsync.refusals')).toEqual([])
    expect(await sandbox.ledger(erased)).toBeUndefined()
    expect(await line.rows('select 1 from vitalsync.profiles where external_id = $1', [erased])).toEqual([])
    expect(await line.rows('select 1 from vitalsync.scores where profile_id = $1', [profileId])).toEqual([])
  })
}

async function discovery(line: TestPipeline) {
  let known: string[] = []
  return {
    names: () => known,
    async discover() {
      const signal = AbortSignal.timeout(120_000)
      const how = { lane: 'manual', lastAttempt: true, signal } as const
      await discoverProfiles.run({}, { ...line.pipeline.context, ...how })
      known = (await line.rows('select external_id from vitalsync.profiles order by 1')).map((row) =>
        String(row['external_id']),
      )
    },
  }
}

async function push(line: TestPipeline, names: readonly string[], chance: (below: number) => number): Promise<void> {
  const name = names[chance(names.length)] ?? ''
  const profileId = (await line.pipeline.profiles.findId(name))?.profileId ?? '0'
  const at = Math.floor((Date.now() - chance(48) * HOUR) / HOUR) * HOUR
  const id = createHash('sha256').update(`${name}/${at}`).digest('hex')
  const log = {
    id: `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20, 32)}`,
    logType: 'activity',
    dataType: 'steps',
    value: chance(3000),
    unit: 'count',
    source: 'chaos',
    recordingMethod: 'automatically_recorded',
    deviceType: 'phone',
    startDateTime: new Date(at).toISOString(),
    endDateTime: new Date(at + HOUR).toISOString(),
  }
  const item = { profileId, stream: 'data-logs', itemKey: log.id, startAtMs: at, endAtMs: at + HOUR } as const
  await line.pipeline.outbox.add([{ ...item, body: JSON.stringify(log) }])
}
