import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { WORKER_SILENT_MS } from '../../src/pipeline/warehouse/runs/live-workers.ts'
import { soon } from '../support/fixtures.ts'
import { ownQueue } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { runProgram, startProgram } from '../support/run-program.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'
import { startWorkerProcess } from './workers.ts'

const names = ['ada', 'bob', 'eve']
const words = ['sync', '--stream', 'scores', '--json']
const afterSilence = { timeout: WORKER_SILENT_MS + 10_000, interval: 100 }

const workersOf = (line: TestPipeline) =>
  line.rows("select seen_at < clock_timestamp() - $1::float8 * interval '1 ms' as silent from vitalsync.workers", [
    WORKER_SILENT_MS,
  ])
const programOf = (line: TestPipeline) => ({ cwd: process.cwd(), env: line.settings })

for (const engine of queueKinds) {
  test.concurrent(`a frozen worker is not counted, and sync does its work itself (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const line = await open(engine, await ownQueue(engine, { skip, onTestFinished }))
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const frozen = await startWorkerProcess(line.settings)
    onTestFinished(() => frozen.kill())
    await expect.poll(() => workersOf(line), soon).toMatchObject([{ silent: false }])
    frozen.pause()
    await expect.poll(() => workersOf(line), afterSilence).toMatchObject([{ silent: true }])

    const sync = await runProgram(words, programOf(line))

    expect(sync.stderr).toMatch(/run \d+: working/)
    expect(sync.code, sync.stderr).toBe(0)
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(names.length)
  })

  test.concurrent(`a worker that freezes while sync follows it is replaced by sync itself (${engine})`, async ({
    open,
    peer,
    onTestFinished,
    expect,
    skip,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1', ...(await ownQueue(engine, { skip, onTestFinished })) })
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
    const held = peer.hold(isReadOf('scores'))
    const frozen = await startWorkerProcess(line.settings)
    onTestFinished(() => frozen.kill())
    await expect.poll(() => workersOf(line), soon).toHaveLength(1)
    const sync = startProgram(words, programOf(line))
    await sync.said(/handed to 1 running worker/)
    await held.reached
    frozen.pause()
    held.release()

    await sync.said(/no running worker shows life any more, working/)
    const ended = await sync.ended

    expect(ended.code, ended.stderr).toBe(0)
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(names.length)
  })
}

test.concurrent('sync outlasts a transaction of a frozen process that holds the locks it needs', async ({
  open,
  peer,
  onTestFinished,
  expect,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(10, 0.4)])
  const databaseUrl = line.settings['DATABASE_URL'] ?? ''
  const frozen = openWarehousePool({ databaseUrl, connectionsMax: 1, name: 'frozen' })
  onTestFinished(() => frozen.end())
  await frozen.query('begin; lock table vitalsync.runs in share row exclusive mode')

  const sync = await runProgram(words, programOf(line))

  expect(sync.code, sync.stderr).toBe(0)
  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
})

test.concurrent('a worker on another database of the same Redis is not counted', async ({
  open,
  peer,
  onTestFinished,
  expect,
  skip,
}) => {
  const line = await open('redis', await ownQueue('redis', { skip, onTestFinished }))
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(10, 0.4)])
  const elsewhere = new URL(line.settings['QUEUE_URL'] ?? '')
  elsewhere.pathname = '/15'
  const other = await startWorkerProcess({ ...line.settings, QUEUE_URL: elsewhere.href })
  onTestFinished(() => other.kill())
  await expect.poll(() => workersOf(line), soon).toMatchObject([{ silent: false }])

  const sync = await runProgram(words, programOf(line))

  expect(sync.stderr).toMatch(/run \d+: working/)
  expect(sync.code, sync.stderr).toBe(0)
})
