import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { needRedis, openOwnRedis } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { openTestPipeline, redisOfOurOwn, test } from '../support/test-pipeline.ts'
import { answers, crash, startWarehouse, succeeds } from './crash-postgres.ts'
import { addProfileWithWork, expectWhole, points } from './points.ts'
import { startWorkerProcess } from './workers.ts'

const people = Array.from({ length: 30 }, (_, index) => `person-${index}`)
const stored = `select count(*)::int as rows, count(distinct profile_id)::int as people, max(revision) as revision from vitalsync.scores`
const whole = [{ rows: 60, people: 30, revision: 1 }]

test('a Redis that is killed in mid-run and comes back costs nothing', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  const redis = await openOwnRedis({ skip, onTestFinished })
  const line = await openTestPipeline({
    warehouseUrl,
    queueUrl: redis.url,
    upstream: peer,
    settings: { CONCURRENCY: '2' },
  })
  onTestFinished(() => line.close())
  await line.addProfiles(...people)
  for (const name of people) peer.give(name, 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.2)])
  const held = peer.hold(isReadOf('scores', 'person-9'))
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())
  await line.tick('sync', { streams: ['scores'] })
  await held.reached

  await redis.kill()
  held.release()
  await redis.startAgain()

  await line.idle()
  await line.tick('sweep')
  await line.idle()
  expect(await line.rows(stored)).toEqual(whole)
})

test('a Postgres that crashes in mid-run and recovers costs nothing', async ({ peer, skip, onTestFinished }) => {
  needRedis(skip)
  const { databaseUrl, close } = await startWarehouse()
  onTestFinished(close)
  const queueUrl = await redisOfOurOwn()
  const line = await openTestPipeline({
    warehouseUrl: databaseUrl,
    queueUrl,
    upstream: peer,
    settings: { CONCURRENCY: '2' },
  })
  onTestFinished(() => line.close())
  await line.addProfiles(...people)
  for (const name of people) peer.give(name, 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.2)])
  const held = peer.hold(isReadOf('scores', 'person-9'), 'after')
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())
  await line.tick('sync', { streams: ['scores'] })
  await held.reached

  await crash(line)
  held.release()
  await expect.poll(() => answers(databaseUrl), soon).toBe(true)

  await line.idle()
  await line.tick('sweep')
  await line.idle()
  expect(await line.rows(stored)).toEqual(whole)
  expect(worker.child.exitCode).toBeNull()
})

/** Fewer points than those at which kill-points.test.ts kills a worker: an engine needs seconds to start again. */
const killPoints = [
  points['after the upload was taken, before its answer'],
  points['before upstream has read'],
  points['after the answer, before the rows are written'],
  points['after the commit, before the job is noted as done'],
]
const names = killPoints.map((_, index) => `person-${index}`)

test('a Redis that is killed at any point of a job costs nothing', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  const redis = await openOwnRedis({ skip, onTestFinished })
  const line = await openTestPipeline({ warehouseUrl, queueUrl: redis.url, upstream: peer })
  onTestFinished(() => line.close())
  const scene = { line, peer }
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())

  for (const [index, stopAt] of killPoints.entries()) {
    const profileId = await addProfileWithWork(scene, `person-${index}`)
    const stop = await stopAt(scene)
    await line.tick('sync', { profileIds: [profileId], streams: ['scores'] })
    await stop.reached()
    await redis.kill()
    await stop.release()
    await redis.startAgain()
    await expect.poll(() => succeeds(line.pipeline.queue.backlog('manual')), soon).toBe(true)
  }
  await line.tick('sync')
  await line.idle()

  await expectWhole(scene, names)
})

test('a Postgres that crashes at any point of a job costs nothing', async ({ peer, skip, onTestFinished }) => {
  needRedis(skip)
  const { databaseUrl, close } = await startWarehouse()
  onTestFinished(close)
  const line = await openTestPipeline({ warehouseUrl: databaseUrl, queueUrl: await redisOfOurOwn(), upstream: peer })
  onTestFinished(() => line.close())
  const scene = { line, peer }
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())

  for (const [index, stopAt] of killPoints.entries()) {
    const profileId = await addProfileWithWork(scene, `person-${index}`)
    const stop = await stopAt(scene)
    await line.tick('sync', { profileIds: [profileId], streams: ['scores'] })
    await stop.reached()
    await crash(line)
    await stop.release()
    await expect.poll(() => answers(databaseUrl), soon).toBe(true)
  }
  await line.tick('sync')
  await line.idle()

  await expectWhole(scene, names)
  expect(worker.child.exitCode).toBeNull()
})
