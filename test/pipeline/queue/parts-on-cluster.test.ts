import { expect } from 'vitest'
import { recoverContextOf } from '../../../src/operations/produce-run.ts'
import { QUEUE_PARTS_MAX, queuePartTag, redisSlotOf } from '../../../src/pipeline/fleet/queue-parts.ts'
import { recoverRun } from '../../../src/pipeline/work/recover-run.ts'
import { startWorkerProcess } from '../../chaos/workers.ts'
import { soon } from '../../support/fixtures.ts'
import { startRedisCluster } from '../../support/redis-cluster.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { openTestPipeline, test } from '../../support/test-pipeline.ts'

const namesOf = (count: number) => Array.from({ length: count }, (_, index) => `person-${index}`)

test('the keys of eight parts lie on all masters within 40 % of even, and each job comes out of its part', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  const { addresses, redises } = await startRedisCluster({ skip, onTestFinished })
  const settings = { CONCURRENCY: '8', QUEUE_PARTS: '8' }
  const queueUrl = `redis://${addresses.join(',')}`
  const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: peer, settings })
  onTestFinished(() => line.close())
  const names = namesOf(600)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const run = await line.tick('sync', { streams: ['scores'] })

  const counts = await Promise.all(redises.map((redis) => redis.dbsize()))
  const even = counts.reduce((sum, count) => sum + count, 0) / 3
  expect(even).toBeGreaterThan(200)
  for (const count of counts) expect(Math.abs(count / even - 1), String(counts)).toBeLessThan(0.4)
  for (const part of Array.from({ length: QUEUE_PARTS_MAX }, (_, index) => index))
    expect(await redises[0]?.cluster('KEYSLOT', `{${queuePartTag(part)}}:x`)).toBe(redisSlotOf(queuePartTag(part)))

  line.work()
  await line.idle()

  await expect.poll(() => line.pipeline.runs.get(run.id), soon).toMatchObject({ state: 'done', done: 600, failed: 0 })
  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(600)
  const held = await Promise.all(redises.map(async (redis) => redis.keys('*:budget:lines')))
  expect(held.flat()).toHaveLength(1)
})

test('a master that is killed in mid-run is replaced by its replica, and nothing is lost', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  const { addresses, redises, kill } = await startRedisCluster({ skip, onTestFinished }, true)
  const settings = { CONCURRENCY: '2', QUEUE_PARTS: '8' }
  const queueUrl = `redis://${addresses.join(',')}`
  const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: peer, settings })
  onTestFinished(() => line.close())
  const names = namesOf(200)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())
  const run = await line.tick('sync', { streams: ['scores'] })
  const done = async () => (await line.pipeline.runs.get(run.id))?.done ?? 0
  await expect.poll(done, soon).toBeGreaterThan(20)

  await kill(0) // it has the budget, and parts of every lane
  expect(await done()).toBeLessThan(200)

  await expect.poll(() => redises[3]?.info('replication'), soon).toContain('role:master')
  // The scheduler does this for runs that show no life: jobs that never reached the replica are ordered again.
  const recover = recoverContextOf({ ...line, signal: AbortSignal.timeout(600_000) })
  await expect
    .poll(async () => {
      const now = await line.pipeline.runs.get(run.id)
      if (now?.state === 'running') await recoverRun(recover, now).catch(() => undefined)
      return now
    }, soon)
    .toMatchObject({ state: 'done', enqueued: 200, done: 200, failed: 0 })
  expect(await line.rows('select count(*)::int as n, max(revision) as r from vitalsync.scores')).toEqual([
    { n: 200, r: 1 },
  ])
  expect(worker.child.exitCode).toBeNull()
})
