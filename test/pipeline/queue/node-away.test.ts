import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { loseNode } from '../../support/lost-node.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { queueKinds, test } from '../../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`people of a node that is away wait alone, however often they are tried (${engine})`, async ({ open, peer }) => {
    const line = await open(engine, { WAREHOUSE_SHARDS: '2' })
    const { pool, queue } = line.pipeline
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal']
    const ids = await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const isOfNode = (profileId: string) => pool.division.keyOf(profileId) === 0
    const reached = names.filter((_, index) => !isOfNode(ids[index] ?? ''))
    const waiting = { waiting: 0, active: 0, delayed: names.length - reached.length }
    expect(reached.length).toBeGreaterThan(0)
    expect(waiting.delayed).toBeGreaterThan(0)

    const run = await line.tick('sync', { streams: ['scores'] })
    const node = await loseNode(line, isOfNode)
    line.work()
    await expect.poll(() => queue.backlog('manual'), soon).toEqual(waiting)
    expect(
      await line.rows('select external_id from vitalsync.scores join vitalsync.names on id = profile_id order by 1'),
    ).toEqual(reached.map((external_id) => ({ external_id })))
    // More tries than a job has attempts: none of them was used up.
    for (let times = 0; times < 12; times += 1) {
      const before = await node.tries()
      for (const job of await line.pipeline.engine.queue('manual').getDelayed()) await job.promote()
      await expect.poll(node.tries, soon).toBeGreaterThan(before)
      await expect.poll(() => queue.backlog('manual'), soon).toEqual(waiting)
    }
    expect(line.logged()).not.toContain('the lane pauses')
    await node.find()
    await line.idle()

    expect(await line.rows('select * from vitalsync.failures')).toEqual([])
    expect(await line.pipeline.runs.get(run.id)).toMatchObject({ state: 'done', done: names.length, failed: 0 })
  })
}

test('a run that begins while a node is away waits for it, and people who are named are synced meanwhile', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', { WAREHOUSE_SHARDS: '4' })
  const { pool, runs } = line.pipeline
  const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
  const ids = await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const isOfNode = (profileId: string) => pool.division.keyOf(profileId) === 1
  const reached = ids.filter((id) => !isOfNode(id))
  const node = await loseNode(line, isOfNode)
  line.work()

  const waiting = line.tick('sync', {})
  await expect.poll(node.tries, soon).toBeGreaterThan(0)
  const named = await line.tick('sync', { profileIds: reached })
  await expect.poll(() => runs.get(named.id), soon).toMatchObject({ state: 'done', done: reached.length, failed: 0 })
  await node.find()
  const run = await waiting

  await expect.poll(() => runs.get(run.id), soon).toMatchObject({ state: 'done', done: names.length, failed: 0 })
  expect(await line.rows('select * from vitalsync.failures')).toEqual([])
})
