import { expect } from 'vitest'
import { isReadOf, type Peer } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

/** A worker of one job at a time has begun the first of two: upstream holds its answer back. */
async function holdFirstOfTwo(line: TestPipeline, peer: Peer) {
  await line.addProfiles('ada', 'bob')
  for (const name of ['ada', 'bob']) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const held = peer.hold(isReadOf('scores'))
  const working = line.work()
  await line.tick('sync', { streams: ['scores'] })
  await held.reached
  return { line, held, working }
}

for (const engine of queueKinds) {
  test(`a worker that closes finishes the jobs that it has begun, and begins no other (${engine})`, async ({
    open,
    peer,
  }) => {
    const { line, held, working } = await holdFirstOfTwo(
      await open(engine, { CONCURRENCY: '1', DRAIN_SECONDS: '20' }),
      peer,
    )

    const closing = working.close()
    held.release()
    await closing

    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
    expect(await line.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 1, active: 0 })
  })

  test(`nothing more is begun while the database is slow to hear that the worker leaves (${engine})`, async ({
    open,
    peer,
  }) => {
    const { line, held, working } = await holdFirstOfTwo(
      await open(engine, { CONCURRENCY: '1', DRAIN_SECONDS: '20' }),
      peer,
    )
    const locking = await line.pipeline.pool.connect()
    await locking.query('begin')
    await locking.query('lock table vitalsync.workers in access exclusive mode')

    const closing = working.close()
    held.release()
    await expect.poll(() => line.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 1, active: 0 })
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
    await locking.query('rollback')
    locking.release()
    await closing

    expect(await line.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 1, active: 0 })
    expect(await line.rows('select 1 from vitalsync.workers')).toEqual([])
  })

  test(`a job that takes longer than the grace is given back with all its attempts (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1', DRAIN_SECONDS: '1' })
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.4)])
    const held = peer.hold(isReadOf('scores'))
    const working = line.work()
    await line.tick('sync', { streams: ['scores'] })
    await held.reached

    await working.close() // while upstream still holds the answer back
    const [job] = await line.pipeline.engine.queue('manual').getJobs(['waiting'])
    expect(job?.attemptsMade).toBe(0)
    expect(await line.rows('select 1 from vitalsync.refusals union all select 1 from vitalsync.failures')).toEqual([])
    held.release()

    line.work()
    await line.idle()
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
  })
}
