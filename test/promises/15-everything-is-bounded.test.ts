import { expect } from 'vitest'
import { nightly } from '../../jobs/nightly.ts'
import { syncProfile } from '../../jobs/sync-profile.ts'
import { createLog } from '../../src/base/log.ts'
import { startWorkers } from '../../src/pipeline/queue/job-workers.ts'
import type { Job } from '../../src/pipeline/work/job.ts'
import type { JobAttempt } from '../../src/pipeline/work/outcome.ts'
import { produce } from '../../src/pipeline/work/producer.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`a producer stops while the backlog is full, and goes on when it is not (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.addProfiles(...Array.from({ length: 1000 }, (_, index) => `person-${index}`))
    const { profiles, runs, queue } = line.pipeline
    const run = await runs.create('nightly', {})
    const stop = new AbortController()
    const backlogs: number[] = []
    let pauses = 0
    const sleep = async () => {
      backlogs.push((await queue.backlog('nightly')).waiting)
      pauses += 1
      // Stands in for workers that finish jobs.
      const jobs = await line.pipeline.engine.queue('nightly').getJobs(['waiting'], 0, 99)
      await Promise.all(jobs.map((job) => job.remove()))
    }

    const limits = { pageSize: 100, backlogMax: 200, pauseMs: 1 }
    const { enqueued } = await produce(nightly, run, { profiles, runs, queue, sleep, signal: stop.signal, limits })

    expect(enqueued).toBe(1000)
    expect(pauses).toBeGreaterThan(3)
    expect(Math.max(...backlogs)).toBeLessThanOrEqual(300)
    expect(await runs.get(run.id)).toMatchObject({ enqueued: 1000, enqueuedAll: true })
  })

  test(`ordered twice, a profile has one job that waits (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.addProfiles('ada', 'bob')

    await line.tick('nightly')
    await line.tick('nightly')

    expect(await line.pipeline.queue.backlog('nightly')).toMatchObject({ waiting: 2 })
  })

  test(`a job that takes too long is aborted, and is an attempt less (${engine})`, async ({ open }) => {
    const line = await open(engine)
    await line.addProfiles('ada')
    await line.tick('sync')
    const reported = Promise.withResolvers<unknown>()
    const endlessly: Job['run'] = (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reported.resolve(signal.reason)
          reject(signal.reason)
        })
      })
    const ended = Promise.withResolvers<JobAttempt>()

    const workers = startWorkers({
      engine: line.pipeline.engine,
      parts: [0],
      jobs: [{ ...syncProfile, timeoutMs: 50, run: endlessly }],
      concurrency: { nightly: 1, manual: 1, backfill: 1 },
      context: line.pipeline.context,
      onAttempt: async (attempt) => ended.resolve(attempt),
      onPause: () => undefined,
      leaseMs: 30_000,
      log: createLog({ level: 'silent' }),
    })

    expect(await reported.promise).toMatchObject({
      name: 'TimeoutError',
      message: 'sync-profile took longer than 50 ms',
    })
    expect(await ended.promise).toMatchObject({ job: 'sync-profile', outcome: 'again' })
    await workers.close(5000)
  })
}
