import { expect } from 'vitest'
import { isReadOf } from '../support/peer.ts'
import { engines, test } from '../support/pipeline.ts'
import { scoreOf } from '../support/records.ts'

for (const engine of engines) {
  test(`a worker that is told to stop finishes what it has begun, and begins nothing more (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1', DRAIN_SECONDS: '20' })
    await line.people('ada', 'bob')
    for (const name of ['ada', 'bob']) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const held = peer.hold(isReadOf('scores'))
    const working = line.work()
    await line.tick('sync', { streams: ['scores'] })
    await held.reached

    const closing = working.close()
    held.release()
    await closing

    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
    expect(await line.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 1, active: 0 })
  })

  test(`what takes longer than the grace is given back, whole and with all its attempts (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1', DRAIN_SECONDS: '1' })
    await line.people('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const held = peer.hold(isReadOf('scores'))
    const working = line.work()
    await line.tick('sync', { streams: ['scores'] })
    await held.reached

    const startedAt = performance.now()
    await working.close()
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    const [job] = await line.pipeline.engine.queue('manual').getJobs(['waiting'])
    expect(job?.attemptsMade).toBe(0)
    expect(await line.rows('select 1 from vitalsync.refusals union all select 1 from vitalsync.failures')).toEqual([])
    held.release()

    line.work()
    await line.idle()
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
  })
}
