import { Writable } from 'node:stream'
import { expect } from 'vitest'
import { z } from 'zod'
import { Rejected, RetryLater } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { untilAborted } from '../../../src/operations/processes/repeat.ts'
import type { Lane } from '../../../src/pipeline/fleet/budget.ts'
import { type LaneQueue, openQueueEngine, type QueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { startWorkers } from '../../../src/pipeline/queue/job-workers.ts'
import { pauseLane, pauseLeftMs } from '../../../src/pipeline/queue/lane-pauses.ts'
import { JOB_FORM, noCounts } from '../../../src/pipeline/transfer/order.ts'
import { PartialOutage } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import type { Job, JobContext } from '../../../src/pipeline/work/job.ts'
import type { JobAttempt, LanePause } from '../../../src/pipeline/work/outcome.ts'
import { test as base, soon } from '../../support/fixtures.ts'
import { contextWith } from '../../support/job-context.ts'

type Work = (attempt: { profileId: string; context: JobContext }) => Promise<void>

type Worked = {
  readonly engine: QueueEngine
  readonly attempts: JobAttempt[]
  readonly pauses: LanePause[]
  add(profileId: string, options?: { lane?: Lane; attempts?: number; jobId?: string; form?: number }): Promise<unknown>
  readonly logged: () => Array<Record<string, unknown>>
  readonly workers: ReturnType<typeof startWorkers>
}

type Start = (
  work: Work,
  wrap?: (engine: QueueEngine) => QueueEngine,
  record?: (attempt: JobAttempt) => Promise<void>,
) => Promise<Worked>

const test = base.extend<{ start: Start }>({
  start: async ({ database }, use) => {
    const engine = await openQueueEngine(database)
    const closing: Array<() => Promise<void>> = []
    await use(async (work, wrap = (queueEngine) => queueEngine, record = async () => undefined) => {
      const attempts: JobAttempt[] = []
      const pauses: LanePause[] = []
      const lines: string[] = []
      const destination = new Writable({
        write: (chunk, _encoding, done) => {
          lines.push(String(chunk))
          done()
        },
      })
      const workers = startWorkers({
        engine: wrap(engine),
        parts: [0],
        jobs: [jobOf(work)],
        concurrency: { nightly: 1, manual: 4, backfill: 1 },
        context: contextWith(),
        onAttempt: async (attempt) => {
          attempts.push(attempt)
          await record(attempt)
        },
        onPause: (pause) => void pauses.push(pause),
        leaseMs: 30_000,
        log: createLog({ level: 'info', destination }),
      })
      closing.push(() => workers.close(0))
      const add: Worked['add'] = (profileId, { lane = 'manual', attempts: most = 1, jobId, form } = {}) =>
        engine
          .queue(lane)
          .add(
            'work',
            { runId: '1', profileId, params: {}, ...(form ? { form } : {}) },
            { attempts: most, removeOnComplete: true, removeOnFail: true, ...(jobId ? { jobId } : {}) },
          )
      return { engine, attempts, pauses, add, workers, logged: () => lines.map((line) => JSON.parse(line)) }
    })
    for (const close of closing) await close()
    await engine.close()
  },
})

const jobOf = (work: Work): Job => ({
  name: 'work',
  payload: z.looseObject({ profileId: z.string() }),
  attemptsMax: 1,
  timeoutMs: 60_000,
  async run(payload, context) {
    await work({ profileId: z.looseObject({ profileId: z.string() }).parse(payload).profileId, context })
    return noCounts
  },
})

const wait = (waitMs: number) => new RetryLater('upstream wants fewer requests', { waitMs })
const outcomesOf = (attempts: readonly JobAttempt[], profileId: string) =>
  attempts.filter((attempt) => attempt.profileId === profileId).map(({ outcome }) => outcome)

test('jobs that ask for a pause while a longer one is under way report no second one', async ({ start }) => {
  const asks = new Map(['long', 'short', 'late'].map((name) => [name, Promise.withResolvers<void>()]))
  let begun = 0
  const { add, attempts, pauses } = await start(async ({ profileId }) => {
    begun += 1
    await asks.get(profileId)?.promise
    throw wait(profileId === 'long' ? 600_000 : 1)
  })
  for (const profileId of asks.keys()) await add(profileId)
  // A job that has not begun when the lane pauses would wait.
  await expect.poll(() => begun, soon).toBe(asks.size)
  // The short pause may end before the long one is in the queue: a job that was paused then asks again.
  for (const [profileId, ask] of asks) {
    ask.resolve()
    await expect.poll(() => outcomesOf(attempts, profileId).length, soon).toBeGreaterThan(0)
  }

  expect(pauses).toMatchObject([{ lane: 'manual', outcome: 'again', pauseMs: 600_000 }])
})

test('a pause that begins after another has ended is reported', async ({ start }) => {
  const { add, pauses } = await start(async () => {
    throw wait(1)
  })
  await add('ada')

  await expect.poll(() => pauses.length, soon).toBeGreaterThan(1)
})

/** A worker that dies leaves the limit of a pause that has ended. */
async function leaveLimit(queue: LaneQueue): Promise<void> {
  await pauseLane([queue], 1)
  await expect.poll(() => pauseLeftMs(queue), soon).toBeLessThanOrEqual(0)
}

test('the limit of a pause is out of the queue after the first job that starts when it has ended, each time', async ({
  start,
}) => {
  const refused = new Set<string>()
  const { engine, add, attempts } = await start(async ({ profileId }) => {
    if (profileId === 'ada' || refused.has(profileId)) return
    refused.add(profileId)
    throw wait(1)
  })
  await leaveLimit(engine.queue('manual'))
  for (const profileId of ['ada', 'bob', 'eve']) {
    await add(profileId)
    await expect.poll(() => outcomesOf(attempts, profileId).at(-1), soon).toBe('done')

    expect(await engine.queue('manual').getGlobalRateLimit(), profileId).toBeNull()
  }
})

test('a limit that could not be taken out is taken out by the next job', async ({ start }) => {
  let failures = 0
  const failingOnce = (engine: QueueEngine): QueueEngine => ({
    ...engine,
    queue(lane, part) {
      const queue = engine.queue(lane, part)
      if (failures > 0) return queue
      failures += 1
      return Object.assign(Object.create(queue), {
        getRateLimitTtl: () => Promise.reject(new Error('Connection terminated')),
      })
    },
  })
  const { engine, add, attempts } = await start(async () => undefined, failingOnce)
  const queue = engine.queue('manual')
  await leaveLimit(queue)
  await add('ada')
  await expect.poll(() => attempts.length, soon).toBe(1)
  expect(await queue.getGlobalRateLimit()).not.toBeNull()

  await add('bob')
  await expect.poll(() => attempts.length, soon).toBe(2)

  expect(await queue.getGlobalRateLimit()).toBeNull()
})

test('a job that the queue gave up may wait again as often, if it comes back', async ({ start }) => {
  const { engine, add, attempts } = await start(async ({ profileId }) => {
    if (profileId.startsWith('waits')) throw wait(1)
  })
  // A job may wait three times while others succeed. Its one attempt is used up then.
  const timesOfWaiting = async (profileId: string) => {
    await add(profileId, { jobId: 'same' })
    for (let times = 1; times <= 3; times += 1) {
      await expect.poll(() => outcomesOf(attempts, profileId).length, soon).toBeGreaterThanOrEqual(times)
      await add(`succeeds-${profileId}-${times}`, { lane: 'nightly' })
      await expect.poll(() => outcomesOf(attempts, `succeeds-${profileId}-${times}`), soon).toEqual(['done'])
    }
    await expect.poll(() => outcomesOf(attempts, profileId).at(-1), soon).toBe('failed')
    // While the queue still has the job, it drops another of the same id.
    await expect.poll(() => engine.queue('manual').getJobCountByTypes('active', 'failed'), soon).toBe(0)
    return outcomesOf(attempts, profileId).filter((outcome) => outcome === 'again').length
  }

  expect(await timesOfWaiting('waits')).toBeGreaterThanOrEqual(3)
  expect(await timesOfWaiting('waits again')).toBeGreaterThanOrEqual(3)
})

test('jobs of one id in two queues count their waits each for itself', async ({ start }) => {
  const released = Promise.withResolvers<void>()
  let waits = 0
  const { add, attempts } = await start(async ({ profileId }) => {
    if (profileId === 'succeeds') return
    waits += 1
    if (profileId === 'ada' && waits > 3) return released.promise
    throw wait(1)
  })
  await add('ada', { jobId: 'same' })
  await expect.poll(() => waits, soon).toBe(4)
  await add('succeeds', { lane: 'nightly' })
  await expect.poll(() => outcomesOf(attempts, 'succeeds'), soon).toEqual(['done'])

  await add('bob', { lane: 'backfill', jobId: 'same' })

  await expect.poll(() => outcomesOf(attempts, 'bob')[0], soon).toBe('again')
  released.resolve()
})

test('a job whose node is away is delayed: it keeps its attempts, and is reported as a pause', async ({ start }) => {
  const { engine, add, attempts, pauses } = await start(async () => {
    throw new PartialOutage('reach node')
  })
  await add('ada')
  await expect.poll(() => engine.queue('manual').getDelayed(), soon).toMatchObject([{ attemptsMade: 0 }])

  expect(attempts).toMatchObject([{ outcome: 'again', isPause: true }])
  expect(pauses).toEqual([])
})

test('a job of a newer version waits for a worker of it, longer each time, and keeps nobody waiting', async ({
  start,
}) => {
  const { engine, add, attempts, logged } = await start(async () => undefined)
  const queue = engine.queue('manual')
  const delays = new Set<number>()
  const delayed = async () => {
    const found = await queue.getDelayed()
    for (const { delay } of found) delays.add(Math.round(delay / 1000))
    return found
  }
  await add('newer', { form: JOB_FORM + 1 })
  await expect.poll(delayed, soon).toMatchObject([{ attemptsMade: 0 }])

  await add('ours', { form: JOB_FORM })
  await expect.poll(() => outcomesOf(attempts, 'ours'), soon).toEqual(['done'])

  const isLeft = async () => {
    await delayed()
    await queue.promoteJobs()
    return queue.getJobCountByTypes('waiting', 'active', 'delayed', 'failed')
  }
  await expect.poll(isLeft, soon).toBe(0)
  expect([...delays].filter((delay) => delay % 5 !== 0)).toEqual([1])
  expect(delays.size).toBeGreaterThan(2)
  expect(attempts).toHaveLength(1)
  expect(logged()).toMatchObject([{ level: 40, job: 'work', lane: 'manual' }])
})

test('a job knows its last attempt, and its lane, and one that is refused has none left', async ({ start }) => {
  const known: unknown[] = []
  const { engine, add, attempts } = await start(async ({ profileId, context: { lastAttempt, lane, runId } }) => {
    known.push({ profileId, lastAttempt, lane, runId })
    if (profileId === 'bob') throw new Rejected('refused', { status: 400 })
    throw new Error('fails')
  })
  await add('ada', { attempts: 2 })
  await expect.poll(() => outcomesOf(attempts, 'ada'), soon).toEqual(['again', 'failed'])
  await add('bob', { attempts: 2, lane: 'nightly' })
  await expect.poll(() => outcomesOf(attempts, 'bob'), soon).toEqual(['failed'])

  const ada = { profileId: 'ada', lane: 'manual', runId: '1' }
  expect(known).toEqual([
    { ...ada, lastAttempt: false },
    { ...ada, lastAttempt: true },
    { profileId: 'bob', lane: 'nightly', runId: '1', lastAttempt: false },
  ])
  await expect.poll(() => engine.queue('nightly').getJobCountByTypes('waiting', 'active', 'delayed'), soon).toBe(0)
  expect(attempts).toMatchObject([{ isPause: false }, { isPause: false }, { isPause: false }])
})

test('a worker counts the jobs that are under way and the attempts that ended, however they end, by the clock of the warehouse', async ({
  start,
}) => {
  const released = Promise.withResolvers<void>()
  const { add, attempts, workers } = await start(async ({ profileId }) => {
    await released.promise
    if (profileId === 'bob') throw new Rejected('refused', { status: 400 })
  })
  await add('ada')
  await add('bob')
  await expect.poll(() => [workers.active(), workers.ended()], soon).toEqual([2, 0])

  released.resolve()

  await expect.poll(() => [workers.active(), workers.ended()], soon).toEqual([0, 2])
  const begunAtMs = contextWith().now()
  expect(attempts).toMatchObject([{ begunAtMs }, { begunAtMs }])
})

test('a failure that cannot be recorded is left to the next attempt, and a success is none until it is recorded', async ({
  start,
}) => {
  const outcomes: string[] = []
  let waits = 1
  const { add, pauses } = await start(
    async () => {
      waits -= 1
      if (waits >= 0) throw wait(1)
    },
    undefined,
    async ({ outcome }) => {
      outcomes.push(outcome)
      if (outcomes.length <= 2) throw new Error('the warehouse is away')
    },
  )
  await add('ada', { attempts: 2 })

  await expect.poll(() => outcomes, { ...soon, timeout: 30_000 }).toEqual(['again', 'done', 'again', 'done'])
  expect(pauses).toHaveLength(1)
})

test('a job that is aborted because its process stops waits again at once, with all its attempts', async ({
  start,
}) => {
  const { engine, add, workers } = await start(async ({ context: { signal } }) => {
    await untilAborted(signal)
    throw signal.reason
  })
  await add('ada')
  await expect.poll(() => workers.active(), soon).toBe(1)

  await workers.close(0)

  expect(await engine.queue('manual').getWaiting()).toMatchObject([{ attemptsMade: 0 }])
})

test('a job goes on waiting while the only success of the others cannot be recorded', async ({ start }) => {
  const unrecorded = Promise.withResolvers<void>()
  let waits = 0
  const { add, attempts } = await start(
    async ({ profileId }) => {
      if (profileId === 'ada') return
      waits += 1
      if (waits === 2) await unrecorded.promise
      if (waits <= 6) throw wait(1)
    },
    undefined,
    async ({ profileId, outcome }) => {
      if (profileId !== 'ada' || outcome !== 'done') return
      unrecorded.resolve()
      throw new Error('not now')
    },
  )
  await add('bob')
  await expect.poll(() => waits, soon).toBe(2)
  await add('ada')

  await expect.poll(() => outcomesOf(attempts, 'bob').at(-1), soon).not.toBe('again')
  expect(outcomesOf(attempts, 'bob')).toEqual([...Array(6).fill('again'), 'done'])
})
