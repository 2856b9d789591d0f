import { expect } from 'vitest'
import { NodeUnreachable } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import type { Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { soon } from '../../support/fixtures.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { queueKinds, test } from '../../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`people of a node that is away wait alone, however often they are tried (${engine})`, async ({ open, peer }) => {
    const line = await open(engine, { WAREHOUSE_SHARDS: '2' })
    const { pool, queue } = line.pipeline
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal']
    const ids = await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const isOfNode = (profileId: string) => pool.buckets.of(profileId) === 0
    const reached = names.filter((_, index) => !isOfNode(ids[index] ?? ''))
    const waiting = { waiting: 0, active: 0, delayed: names.length - reached.length }
    expect(reached.length).toBeGreaterThan(0)
    expect(waiting.delayed).toBeGreaterThan(0)

    const whole = pool.of
    const fail = () => Promise.reject(new NodeUnreachable('reach node a:1 of the warehouse: it does not answer'))
    const away: Pool = Object.assign(Object.create(pool), { query: fail, connect: fail })
    let isAway = true
    let tries = 0
    pool.of = (profileId) => {
      if (!isOfNode(profileId) || !isAway) return whole(profileId)
      tries += 1
      return away
    }
    line.work()

    const run = await line.tick('sync', { streams: ['scores'] })
    await expect.poll(() => queue.backlog('manual'), soon).toEqual(waiting)
    expect(
      await line.rows('select external_id from vitalsync.scores join vitalsync.names on id = profile_id order by 1'),
    ).toEqual(reached.map((external_id) => ({ external_id })))
    // More tries than a job has attempts: none of them was used up.
    while (tries < 12 * waiting.delayed) {
      for (const job of await line.pipeline.engine.queue('manual').getDelayed()) await job.promote()
      await expect.poll(() => queue.backlog('manual'), soon).toEqual(waiting)
    }
    expect(line.logged()).not.toContain('the lane pauses')
    isAway = false
    await line.idle()

    expect(await line.rows('select * from vitalsync.failures')).toEqual([])
    expect(await line.pipeline.runs.get(run.id)).toMatchObject({ state: 'done', done: names.length, failed: 0 })
  })
}
