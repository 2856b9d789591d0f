import pg from 'pg'
import { expect, onTestFinished, vi } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { type LaneQueue, openQueueEngine, type QueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { followFormerParts, type PartWorker } from '../../../src/pipeline/queue/former-parts.ts'
import { soon, test } from '../../support/fixtures.ts'
import { redisOfOurOwn } from '../../support/test-pipeline.ts'

const data = { runId: '1', profileId: '1', params: {} }
const log = createLog({ level: 'silent' })

/** A job in each state that a job can have before it ends. */
const states: Readonly<Record<string, (queue: LaneQueue, engine: QueueEngine) => Promise<unknown>>> = {
  waiting: (queue) => queue.add('job', data),
  prioritized: (queue) => queue.add('job', data, { priority: 5 }),
  delayed: (queue) => queue.add('job', data, { delay: 600_000 }),
  async paused(queue) {
    await queue.pause()
    await queue.add('job', data)
  },
  async active(queue, engine) {
    await queue.add('job', data)
    const worker = engine.worker({ lane: 'manual', part: 2 }, async () => undefined, { autorun: false })
    expect(await worker.getNextJob('token', { block: false })).toBeDefined()
    await worker.close(true)
  },
}

async function expectFormerPart(queueUrl: string, make: (typeof states)[string]): Promise<void> {
  const before = await openQueueEngine(queueUrl, { parts: 3 })
  const now = await openQueueEngine(queueUrl, { parts: 2 })
  try {
    await make(before.queue('manual', 2), before)

    expect(await now.formerParts()).toEqual([2])
  } finally {
    await before.close()
    await now.close()
  }
}

for (const [state, make] of Object.entries(states)) {
  test(`a former part is found that holds one job alone, which is ${state} (redis)`, async ({ redisUrl }) => {
    expect(redisUrl).not.toBe('')
    await expectFormerPart(await redisOfOurOwn(), make)
  })

  test(`a former part is found that holds one job alone, which is ${state} (postgres)`, async ({ database }) => {
    await expectFormerPart(database, make)
  })
}

test('a look that failed is not remembered', async ({ database }) => {
  const engine = await openQueueEngine(database)
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    await client.query('alter table bullmq.job rename to job_away')
    await expect(engine.formerParts()).rejects.toThrow('does not exist')
    await client.query('alter table bullmq.job_away rename to job')

    expect(await engine.formerParts()).toEqual([])
  } finally {
    await client.end()
    await engine.close()
  }
})

test('a part that is found while the worker closes is not begun', async () => {
  const found = Promise.withResolvers<number[]>()
  const started: number[] = []
  const former = followFormerParts({
    engine: { parts: 2, formerPartsAtOnceMax: 2, formerParts: () => found.promise },
    parts: [0, 1],
    log,
    startPart(part) {
      started.push(part)
      return []
    },
  })
  former.close()
  found.resolve([2, 3])
  await new Promise(setImmediate)

  expect(started).toEqual([])
})

test('a worker takes the former parts that are its own by the number of parts, as many as it may at once', async () => {
  const startedBy = async (parts: number[], formerPartsAtOnceMax: number) => {
    const started: number[] = []
    const former = followFormerParts({
      engine: { parts: 3, formerPartsAtOnceMax, formerParts: async () => [3, 4, 5, 6, 7] },
      parts,
      log,
      startPart(part) {
        started.push(part)
        return []
      },
    })
    onTestFinished(() => former.close())
    await expect.poll(() => started.length, soon).toBeGreaterThan(0)
    return started
  }

  expect(await startedBy([0], 9)).toEqual([3, 6])
  expect(await startedBy([0, 1], 9)).toEqual([3, 4, 6, 7])
  expect(await startedBy([0, 1], 2)).toEqual([3, 4])
  expect(await startedBy([2], 1)).toEqual([5])
})

test('a former part without jobs is left, and begun again when it holds jobs again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const looks = [[2], [2], [], [2]]
  const events: string[] = []
  const worker: PartWorker = {
    of: { lane: 'manual', part: 2 },
    worker: {} as PartWorker['worker'], // nothing of it is asked for
    close: async () => void events.push('closed'),
  }
  const former = followFormerParts({
    engine: { parts: 2, formerPartsAtOnceMax: 2, formerParts: async () => looks.shift() ?? [] },
    parts: [0],
    log,
    startPart(part) {
      events.push(`started ${part}`)
      return [worker]
    },
  })
  onTestFinished(() => former.close())
  const served: number[] = []
  while (looks.length > 0 || served.length < 4) {
    await new Promise(setImmediate)
    served.push(former.workers().length)
    await vi.advanceTimersByTimeAsync(10_000)
  }

  expect(events).toEqual(['started 2', 'closed', 'started 2', 'closed'])
  expect(served).toEqual([1, 1, 0, 1])
})
