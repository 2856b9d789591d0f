import { expect } from 'vitest'
import { examineRedis } from '../../../src/pipeline/queue/examine-redis.ts'
import { startWorkerProcess } from '../../chaos/workers.ts'
import { soon } from '../../support/fixtures.ts'
import { startRedisCluster } from '../../support/redis-cluster.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { openTestPipeline, test } from '../../support/test-pipeline.ts'

test('queue, budget and doctor work on a Redis Cluster', async ({ warehouseUrl, peer, skip, onTestFinished }) => {
  const { addresses, redises } = await startRedisCluster({ skip, onTestFinished })
  const queueUrl = `redis://${addresses.join(',')}`
  const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: peer, settings: { CONCURRENCY: '2' } })
  onTestFinished(() => line.close())
  const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4), scoreOf(9, 0.5)])
  line.work()
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())

  const run = await line.tick('sync', { streams: ['scores'] })
  await line.idle()

  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(24)
  await expect.poll(() => line.pipeline.runs.get(run.id), soon).toMatchObject({ state: 'done', done: 12 })
  // All keys lie on one node, with the budget that both processes share.
  const keys = await Promise.all(redises.map((redis) => redis.keys('*')))
  const [ours = [], ...others] = keys.sort((a, b) => b.length - a.length)
  expect(others).toEqual([[], []])
  expect(ours.every((key) => key.startsWith('{vitalsync}'))).toBe(true)
  const members = await Promise.all(redises.map((redis) => redis.hlen('{vitalsync}:budget:lines').catch(() => 0)))
  expect(Math.max(...members)).toBe(2)
})

test('the doctor distinguishes a cluster from a single Redis, and a wrong address from a right one', async ({
  redisUrl,
  skip,
  onTestFinished,
}) => {
  const { addresses } = await startRedisCluster({ skip, onTestFinished })
  const [first = ''] = addresses
  const told = async (url: string) =>
    (await examineRedis('queue', url)).filter(({ state }) => state !== 'well').map(({ text, hint }) => [text, hint])
  const whole = await examineRedis('queue', `redis://${first}?cluster`)

  expect(whole).toContainEqual({
    subject: 'queue',
    state: 'well',
    text: 'a Redis Cluster of 3 masters, every slot served',
  })
  expect(new Set(whole.map(({ subject }) => subject)).size).toBe(4)
  expect(await told(`redis://${addresses.join(',')}`)).toEqual([])
  expect(await told(`redis://${first}`)).toEqual([
    [expect.stringContaining('addressed as if it were alone'), expect.stringContaining('?cluster')],
  ])
  expect(await told(`${redisUrl}?cluster`)).toEqual([
    ['it is a Redis of its own, no cluster', expect.stringContaining('without ?cluster')],
  ])
})
