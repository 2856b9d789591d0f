import pg from 'pg'
import { expect } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { type LaneQueue, openQueueEngine, type QueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { type ClaimedJob, type PartWorkers, startPartWorkers } from '../../../src/pipeline/queue/part-workers.ts'
import { noCounts } from '../../../src/pipeline/transfer/order.ts'
import { test as base, soon } from '../../support/fixtures.ts'

const SLOTS = 3
const data = { runId: '1', profileId: '1', params: {} }
const log = createLog({ level: 'silent' })

type Lane = {
  readonly engine: QueueEngine
  queue(part: number): LaneQueue
  /** Jobs whose name begins with `held`, while they run. */
  readonly running: ClaimedJob[]
  readonly ended: string[]
  /** Resolves the held jobs. */
  release(): void
  start(): PartWorkers
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

type LaneOptions = { readonly leaseMs?: number; readonly statementTimeoutMs?: number }

const test = base.extend<{ open: (options?: LaneOptions) => Promise<Lane> }>({
  open: async ({ database }, use) => {
    const opened: Lane[] = []
    await use(async (options = {}) => {
      const lane = await openLane(database, options)
      opened.push(lane)
      return lane
    })
    for (const lane of opened) await lane.close()
  },
})

/** A queue of two parts whose jobs end at once, but for those that the test holds until it releases or aborts them. */
async function openLane(
  database: string,
  { leaseMs = 30_000, statementTimeoutMs = 20_000 }: LaneOptions,
): Promise<Lane> {
  const engine = await openQueueEngine(database, { parts: 2, statementTimeoutMs })
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const released = Promise.withResolvers<void>()
  const running: ClaimedJob[] = []
  const ended: string[] = []
  const work = async (claimed: ClaimedJob) => {
    if (claimed.bull.name.startsWith('held')) {
      running.push(claimed)
      await Promise.race([released.promise, abortOf(claimed.signal)])
      running.splice(running.indexOf(claimed), 1)
    }
    ended.push(claimed.bull.name)
    return noCounts
  }
  const workers: PartWorkers[] = []
  return {
    engine,
    queue: (part) => engine.queue('manual', part),
    running,
    ended,
    release: released.resolve,
    start() {
      const concurrency = { nightly: 1, manual: SLOTS, backfill: 1 }
      const started = startPartWorkers({ engine, parts: [0, 1], concurrency, leaseMs, log, work })
      workers.push(started)
      return started
    },
    sql: async (text, values = []) => (await client.query(text, values)).rows,
    async close() {
      released.resolve()
      for (const worker of workers) await worker.close(1000, () => undefined)
      await engine.close()
      await client.end()
    },
  }
}

const abortOf = (signal: AbortSignal | undefined) =>
  new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))

const add = (queue: LaneQueue, name: string, count: number) =>
  queue.addBulk(Array.from({ length: count }, () => ({ name, data, opts: { removeOnComplete: true } })))

test('however many jobs of a part have ended, another part has all slots after them', async ({ open }) => {
  const { queue, running, ended, start } = await open()
  start()
  await add(queue(0), 'short', 2 * SLOTS)
  await expect.poll(() => ended.length, soon).toBe(2 * SLOTS)

  await add(queue(1), 'held', SLOTS)

  await expect.poll(() => running.length, soon).toBe(SLOTS)
})

test('jobs that the queue gives up without a start hold no slot of the others', async ({ open }) => {
  const { queue, running, start, sql } = await open()
  await add(queue(0), 'lost', 2 * SLOTS)
  await sql(`update bullmq.job set deferred_failure = 'stalled too often'`)
  start()
  await expect.poll(() => queue(0).getJobCounts('failed'), soon).toEqual({ failed: 2 * SLOTS })

  await add(queue(1), 'held', SLOTS)

  await expect.poll(() => running.length, soon).toBe(SLOTS)
})

test('a part whose claims get no answer leaves its slots to the others', async ({ open }) => {
  const { queue, running, start, sql } = await open({ statementTimeoutMs: 500 })
  // A limit of the queue is checked under a lock, which is held here: each claim of this part takes too long.
  await queue(1).setGlobalConcurrency(100)
  await sql(`select pg_advisory_lock(hashtext('bullmq:concurrency:' || $1))`, [queue(1).name])
  await add(queue(0), 'held', SLOTS)
  start()

  await expect.poll(() => running.length, soon).toBe(SLOTS)
})

test('a job whose lease another worker has taken is aborted', async ({ open }) => {
  const { queue, running, ended, start, sql } = await open({ leaseMs: 1000 })
  await add(queue(0), 'held', 1)
  start()
  await expect.poll(() => running.length, soon).toBe(1)
  const [job] = running

  await sql(`update bullmq.job set lock_token = 'of another worker', locked_until_ms = locked_until_ms + 600000`)

  await expect.poll(() => job?.signal?.aborted, soon).toBe(true)
  await expect.poll(() => ended, soon).toEqual(['held'])
})

test('a close lets jobs end in their grace and aborts none', async ({ open }) => {
  const { queue, running, release, start } = await open()
  await add(queue(0), 'held', 1)
  const workers = start()
  await expect.poll(() => running.length, soon).toBe(1)
  const [job] = running
  const told: string[] = []

  const closed = workers.close(100_000, () => told.push('abort'))
  release()
  await closed

  expect(told).toEqual([])
  expect(job?.signal?.aborted).toBe(false)
})

test('after the grace the caller is notified first, and then every job in every part is aborted', async ({ open }) => {
  const { queue, running, start } = await open()
  await add(queue(0), 'held', 1)
  await add(queue(1), 'held', 1)
  const workers = start()
  await expect.poll(() => running.length, soon).toBe(2)
  const signals = running.map(({ signal }) => signal)

  const abortedBefore: unknown[] = []
  await workers.close(0, () => abortedBefore.push(...signals.map((signal) => signal?.aborted)))

  expect(abortedBefore).toEqual([false, false])
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
})
