import { expect } from 'vitest'
import { nightly } from '../../jobs/nightly.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import type { Job } from '../../src/job.ts'
import { createLog } from '../../src/log.ts'
import { produce } from '../../src/producer.ts'
import { type Ended, startWorkers } from '../../src/queue/worker.ts'
import { engines, test } from '../support/pipeline.ts'

for (const engine of engines) {
  test(`a producer stops while the backlog is full, and goes on when it is not (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.people(...Array.from({ length: 1000 }, (_, index) => `person-${index}`))
    const { profiles, runs, queue } = line.pipeline
    const run = await runs.start('nightly', {})
    const stop = new AbortController()
    const backlogs: number[] = []
    let pauses = 0
    const sleep = async () => {
      backlogs.push((await queue.backlog('nightly')).waiting)
      pauses += 1
      // What workers would do meanwhile.
      const jobs = await line.pipeline.engine.queue('nightly').getJobs(['waiting'], 0, 99)
      await Promise.all(jobs.map((job) => job.remove()))
    }

    const limits = { pageSize: 100, backlogMax: 200, pauseMs: 1 }
    const enqueued = await produce(nightly, run, { profiles, runs, queue, sleep, signal: stop.signal, limits })

    expect(enqueued).toBe(1000)
    expect(pauses).toBeGreaterThan(3)
    expect(Math.max(...backlogs)).toBeLessThanOrEqual(300)
    expect(await runs.get(run.id)).toMatchObject({ enqueued: 1000, enqueuedAll: true })
  })

  test(`asked for twice, a person waits once (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.people('ada', 'bob')

    await line.tick('nightly')
    await line.tick('nightly')

    expect(await line.pipeline.queue.backlog('nightly')).toMatchObject({ waiting: 2 })
  })

  test(`a job that takes too long is told to stop, and is an attempt less (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.people('ada')
    await line.tick('sync')
    const told = Promise.withResolvers<unknown>()
    const endlessly: Job['run'] = (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          told.resolve(signal.reason)
          reject(signal.reason)
        })
      })
    const ended = Promise.withResolvers<Ended>()

    const workers = startWorkers({
      engine: line.pipeline.engine,
      jobs: [{ ...syncProfile, timeoutMs: 50, run: endlessly }],
      concurrency: { nightly: 1, manual: 1, backfill: 1 },
      context: line.pipeline.context,
      onEnded: async (one) => ended.resolve(one),
      log: createLog({ level: 'silent' }),
    })

    expect(await told.promise).toMatchObject({ name: 'TimeoutError', message: 'sync-profile took longer than 50 ms' })
    expect(await ended.promise).toMatchObject({ job: 'sync-profile', outcome: 'again' })
    await workers.close(5000)
  })
}
