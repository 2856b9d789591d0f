import { expect } from 'vitest'
import { recoverContextOf } from '../../src/operations/produce-run.ts'
import type { Run } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { recoverRun } from '../../src/pipeline/work/recover-run.ts'
import { startWorkerProcess } from '../chaos/workers.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const names = ['ada', 'bob', 'eve']
const range = (from: number, to: number) => ({ from: daysAgoMs(from), to: daysAgoMs(to), streams: ['scores'] })

async function endOf(line: TestPipeline, ...runs: Run[]): Promise<unknown[]> {
  const states = () => Promise.all(runs.map(async ({ id }) => (await line.pipeline.runs.get(id))?.state))
  await expect.poll(states, soon).toEqual(runs.map(() => 'done'))
  const found = await Promise.all(runs.map(({ id }) => line.pipeline.runs.get(id)))
  return found.map((run) => ({ enqueued: run?.enqueued, done: run?.done, failed: run?.failed }))
}

for (const engine of queueKinds) {
  test(`an order that finds a job of the same waiting is done by it, one of another range on its own (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine)
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(100, 0.1), scoreOf(50, 0.2)])
    const first = await line.tick('backfill', range(110, 90))
    const same = await line.tick('backfill', range(110, 90))
    const other = await line.tick('backfill', range(60, 40))
    expect(await line.pipeline.queue.backlog('backfill')).toMatchObject({ waiting: 2 })

    line.work()

    const counts = { enqueued: 1, done: 1, failed: 0 }
    expect(await endOf(line, first, same, other)).toEqual([counts, counts, counts])
    expect(await line.rows('select value from vitalsync.scores order by 1')).toEqual([{ value: 0.1 }, { value: 0.2 }])
  })

  test(`an order that comes while the job is under way is done after it, and by no less (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { HISTORY_DAYS: '20' })
    await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.1)])
    const held = peer.hold(isReadOf('scores'), 'after')
    line.work()
    const first = await line.tick('sync')
    await held.reached
    const [second, third] = [await line.tick('sync'), await line.tick('sync')]
    const again = peer.hold(isReadOf('scores'))
    held.release()

    await again.reached
    expect(await endOf(line, first)).toEqual([{ enqueued: 1, done: 1, failed: 0 }])
    expect(await line.pipeline.runs.get(second.id)).toMatchObject({ state: 'running', done: 0 })
    again.release()
    const counts = { enqueued: 1, done: 1, failed: 0 }
    expect(await endOf(line, second, third)).toEqual([counts, counts])
  })

  test(`after a worker that was killed with its jobs, every run of the same people adds up (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine, { CONCURRENCY: '2' })
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(100, 0.1), scoreOf(50, 0.2), scoreOf(10, 0.3)])
    const held = peer.hold(isReadOf('scores', 'ada'), 'after')
    const victim = await startWorkerProcess(line.settings)
    onTestFinished(() => victim.kill())
    const first = await line.tick('backfill', range(110, 90))
    await held.reached
    await victim.kill()
    held.release()

    const more = [await line.tick('backfill', range(110, 90)), await line.tick('backfill', range(60, 5))]
    const successor = await startWorkerProcess(line.settings)
    onTestFinished(() => successor.kill())

    const three = { enqueued: 3, done: 3, failed: 0 }
    expect(await endOf(line, first, ...more)).toEqual([three, three, three])
    expect(await line.rows('select count(*)::int as n, max(revision) as r from vitalsync.scores')).toEqual([
      { n: 9, r: 1 },
    ])
    expect(await line.rows('select 1 from vitalsync.orders')).toEqual([])
  })

  test(`orders that a wiped queue lost are enqueued again, once their lane is empty (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1' })
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(50, 0.2)])
    const run = await line.tick('backfill', range(60, 40))
    await line.wipeQueue()
    line.work()
    const now = await line.pipeline.runs.get(run.id)
    expect(now).toMatchObject({ state: 'running', enqueued: 3, enqueuedAll: true })

    await recoverRun(recoverContextOf({ ...line, signal: AbortSignal.timeout(120_000) }), now ?? run)

    expect(await endOf(line, run)).toEqual([{ enqueued: 3, done: 3, failed: 0 }])
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(3)
  })
  test(`a job in the form of another version is dropped, and ordered again in today's (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { HISTORY_DAYS: '20' })
    const [ada = ''] = await line.addProfiles('ada')
    peer.give('ada', 'scores', [scoreOf(10, 0.1)])
    const run = await line.tick('sync')
    await line.wipeQueue()
    const former = { payload: { profileId: ada }, runId: run.id }
    await line.pipeline.engine.queue('manual').add('sync-profile', former as never, { removeOnFail: true })
    line.work()
    await expect.poll(() => line.pipeline.queue.isIdle(), soon).toBe(true)
    expect(await line.rows('select profile_id from vitalsync.orders')).toEqual([{ profile_id: ada }])
    const now = await line.pipeline.runs.get(run.id)

    await recoverRun(recoverContextOf({ ...line, signal: AbortSignal.timeout(120_000) }), now ?? run)

    expect(await endOf(line, run)).toEqual([{ enqueued: 1, done: 1, failed: 0 }])
    expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.1 }])
  })
}
