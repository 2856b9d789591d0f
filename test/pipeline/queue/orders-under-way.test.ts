import { expect } from 'vitest'
import { openQueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { createEnqueuer } from '../../../src/pipeline/queue/enqueue.ts'
import { soon, test } from '../../support/fixtures.ts'

const data = { runId: '1', profileId: '1', params: {} }

test('an order that comes while its job runs is carried out after it', async ({ database }) => {
  const engine = await openQueueEngine(database)
  const enqueuer = createEnqueuer(engine)
  const order = { ...data, job: 'sync-profile' }
  const begun: string[] = []
  const released = Promise.withResolvers<void>()
  const worker = engine.worker(
    { lane: 'manual', part: 0 },
    async (job) => {
      begun.push(job.data.runId)
      await released.promise
    },
    { concurrency: 2 },
  )
  try {
    await enqueuer.enqueue('manual', { attemptsMax: 1 }, [order])
    await expect.poll(() => begun, soon).toEqual(['1'])

    await enqueuer.enqueue('manual', { attemptsMax: 1 }, [{ ...order, runId: '2' }])
    await enqueuer.enqueue('manual', { attemptsMax: 1 }, [{ ...order, runId: '3' }])
    released.resolve()

    await expect.poll(() => begun, soon).toHaveLength(2)
    await expect.poll(() => enqueuer.isIdle(), soon).toBe(true)
    expect(begun).toHaveLength(2)
  } finally {
    released.resolve()
    await worker.close()
    await engine.close()
  }
})

test('a queue is not idle while a job is delayed', async ({ database }) => {
  const engine = await openQueueEngine(database)
  const enqueuer = createEnqueuer(engine)
  try {
    expect(await enqueuer.isIdle()).toBe(true)
    await engine.queue('backfill').add('job', data, { delay: 600_000 })

    expect(await enqueuer.isIdle()).toBe(false)
    expect(await enqueuer.backlog('backfill')).toEqual({ waiting: 0, active: 0, delayed: 1 })
  } finally {
    await engine.close()
  }
})
