import { expect } from 'vitest'
import { nightly } from '../../jobs/nightly.ts'
import { produce } from '../../src/producer.ts'
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
}
