import { expect } from 'vitest'
import { produceRun } from '../../../src/operations/produce-run.ts'
import { NodeUnreachable } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import type { Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { soon } from '../../support/fixtures.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { queueKinds, test } from '../../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`a nightly that begins while a node is away syncs everybody else, and the rest when it is back (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { WAREHOUSE_SHARDS: '4' })
    const { pool, runs } = line.pipeline
    const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
    const ids = await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const isOfNode = (profileId: string) => pool.buckets.of(profileId) === 1
    const reached = names.filter((_, index) => !isOfNode(ids[index] ?? '')).toSorted()
    expect(reached.length).toBeGreaterThan(0)
    expect(reached.length).toBeLessThan(names.length)

    const whole = pool.of
    const fail = () => Promise.reject(new NodeUnreachable('reach node a:1 of the warehouse: it does not answer'))
    const away: Pool = Object.assign(Object.create(pool), { query: fail, connect: fail })
    const ofNode = pool.buckets.hashesOf(1)
    let isAway = true
    pool.of = (profileId) => (isAway && isOfNode(profileId) ? away : whole(profileId))
    pool.shardOf = ({ firstHash }) => (isAway && firstHash === ofNode.firstHash ? away : undefined)
    const scored = () =>
      line
        .rows('select external_id from vitalsync.scores join vitalsync.names on id = profile_id order by 1')
        .then((found) => found.map(({ external_id: name }) => name))

    const run = await runs.create('nightly', {})
    const context = { pipeline: line.pipeline, config: line.config, signal: AbortSignal.timeout(120_000) }
    const produced = await produceRun(context, run)
    line.work()

    expect(produced).toEqual({ enqueued: reached.length, isLast: false })
    await expect.poll(scored, soon).toEqual(reached)
    await expect
      .poll(() => runs.get(run.id), soon)
      .toMatchObject({ state: 'running', enqueued: reached.length, enqueuedAll: false, done: reached.length })
    isAway = false
    // Nobody helps: the worker of this process enqueues the rest.
    await expect.poll(() => runs.get(run.id), soon).toMatchObject({ state: 'done', done: names.length, failed: 0 })

    expect(await scored()).toEqual(names.toSorted())
    expect(await line.rows('select * from vitalsync.failures')).toEqual([])
    expect(await line.rows('select * from vitalsync.run_buckets where run_id = $1', [run.id])).toEqual([])
  })
}
