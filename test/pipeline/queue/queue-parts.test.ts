import { expect } from 'vitest'
import { countWorkersOfAllParts } from '../../../src/operations/processes/worker-heartbeat.ts'
import { hashRangeOf } from '../../../src/pipeline/fleet/hash-ranges.ts'
import { oldestJobMs } from '../../../src/pipeline/queue/enqueue.ts'
import { pauseLane, pauseLeftMs } from '../../../src/pipeline/queue/lane-pauses.ts'
import { queuesInUse } from '../../../src/pipeline/queue/queues-in-use.ts'
import { examineParts, findUnservedParts } from '../../../src/pipeline/queue/served-parts.ts'
import { startWorkerProcess } from '../../chaos/workers.ts'
import { soon } from '../../support/fixtures.ts'
import { isReadOf, type Peer } from '../../support/peer.ts'
import { runProgram } from '../../support/run-program.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { openTestPipeline, queueKinds, type TestPipeline, test } from '../../support/test-pipeline.ts'

const attempts = { attemptsMax: 3 }
const partOf4 = (profileId: string) => hashRangeOf(profileId, 4)

const nameOf = (index: number) => `person-${String(index).padStart(2, '0')}`

/** Adds this many profiles with a record each; returns their ids. */
async function addPeople(line: TestPipeline, peer: Peer, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => nameOf(index))
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  return line.addProfiles(...names)
}

const countsOf = (line: TestPipeline, parts: number) =>
  Promise.all(Array.from({ length: parts }, (_, part) => line.pipeline.engine.queue('manual', part).getWaitingCount()))

/** Another process on the same warehouse and queue, with another number of parts. */
const openBeside = (line: TestPipeline, peer: Peer, settings: Record<string, string>) =>
  openTestPipeline({
    warehouseUrl: line.config.databaseUrl ?? '',
    queueUrl: line.config.queueUrl ?? '',
    upstream: peer,
    settings: { ...line.settings, ...settings },
  })

for (const engine of queueKinds) {
  test(`a person’s jobs wait in the person’s part, once each, and are removed from it (${engine})`, async ({
    open,
  }) => {
    const { queue, engine: opened } = (await open(engine, { QUEUE_PARTS: '4' })).pipeline
    const orders = Array.from({ length: 40 }, (_, index) => ({
      runId: '1',
      profileId: String(index + 1),
      job: 'sync-profile',
      params: {},
    }))
    const late = orders.filter(({ profileId }) => partOf4(profileId) === 3)
    await queue.enqueue('manual', attempts, late)
    const [first] = await opened.queue('manual', 3).getJobs(['waiting'], 0, 0, true)
    for (const runId of ['1', '2'])
      await queue.enqueue(
        'manual',
        attempts,
        orders.map((order) => ({ ...order, runId })),
      )

    expect(await queue.backlog('manual')).toEqual({ waiting: 40, active: 0, delayed: 0 })
    for (const part of [0, 1, 2, 3]) {
      const jobs = await opened.queue('manual', part).getJobs(['waiting'])
      const ownOrders = orders.filter(({ profileId }) => partOf4(profileId) === part)
      expect(jobs.map(({ data }) => data.profileId).sort()).toEqual(ownOrders.map(({ profileId }) => profileId).sort())
      expect(ownOrders.length).toBeGreaterThan(0)
    }
    expect(await oldestJobMs(opened, 'manual')).toBe(first?.timestamp)
    expect(await queue.removeWaiting(orders.slice(0, 10))).toBe(10)
    expect(await queue.backlog('manual')).toMatchObject({ waiting: 30 })
  })

  test(`jobs that wait while the parts become four and then two are all done, once (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const one = await open(engine)
    await addPeople(one, peer, 60)
    const runs = [await one.tick('sync', { streams: ['scores'] })]
    expect(await one.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 60 })
    const four = await openBeside(one, peer, { QUEUE_PARTS: '4' })
    onTestFinished(() => four.close())
    runs.push(await four.tick('sync', { streams: ['scores', 'tags'] }))
    expect((await countsOf(four, 4)).slice(1).every((count) => count > 0)).toBe(true)

    const two = await openBeside(one, peer, { QUEUE_PARTS: '2' })
    onTestFinished(() => two.close())
    expect(await two.pipeline.queue.backlog('manual')).toMatchObject({ waiting: 120 })
    two.work()

    for (const { id } of runs)
      await expect
        .poll(() => two.pipeline.runs.get(id), soon)
        .toMatchObject({ state: 'done', enqueued: 60, done: 60, failed: 0 })
    expect(await two.rows('select count(*)::int as n, max(revision) as r from vitalsync.scores')).toEqual([
      { n: 60, r: 1 },
    ])
    await expect.poll(() => two.pipeline.queue.isIdle(), soon).toBe(true)
    expect(two.logged()).toContain('"parts":"2-3","queueParts":2')
  })

  test(`two processes of different QUEUE_PARTS lose nothing and count each person once (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const two = await open(engine, { QUEUE_PARTS: '2', CONCURRENCY: '2' })
    const four = await openBeside(two, peer, { QUEUE_PARTS: '4', CONCURRENCY: '2' })
    onTestFinished(() => four.close())
    await addPeople(two, peer, 40)
    two.work()
    four.work()

    const runs = await Promise.all([two, four].map((line) => line.tick('sync', { streams: ['scores'] })))

    for (const { id } of runs)
      await expect.poll(() => two.pipeline.runs.get(id), soon).toMatchObject({ state: 'done', done: 40, failed: 0 })
    expect(await two.rows('select count(*)::int as n, max(revision) as r from vitalsync.scores')).toEqual([
      { n: 40, r: 1 },
    ])
    const findingTexts = async () => (await examineParts('queue', two.config.queueUrl ?? '', 2)).map(({ text }) => text)
    await expect.poll(findingTexts, soon).toContain('a worker has parts 2-3, beyond QUEUE_PARTS=2')
  })

  test(`CONCURRENCY bounds the jobs of all parts together, and one part with work has all of it (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { QUEUE_PARTS: '4', CONCURRENCY: '4' })
    const ids = await addPeople(line, peer, 60)
    const byPart = Map.groupBy(ids.keys(), (index) => partOf4(ids[index] ?? ''))
    const holds = ids.map((_, index) => ({ index, ...peer.hold(isReadOf('scores', nameOf(index))) }))
    const reached = new Set<number>()
    for (const { index, reached: come } of holds) void come.then(() => reached.add(index))
    const running = (part: number) => [...reached].filter((index) => byPart.get(part)?.includes(index)).length
    // All is enqueued before: the held jobs of a part may fill every slot only when the others have run dry.
    await line.tick('sync', { streams: ['scores'] })
    line.work()

    await expect.poll(() => reached.size, soon).toBe(4)
    expect(await line.pipeline.queue.backlog('manual').then(({ active }) => active)).toBeLessThanOrEqual(8)
    const [last = 0] = byPart.keys()
    for (const { index, release } of holds) if (!byPart.get(last)?.includes(index)) release()
    // No job of this part ends meanwhile: its share grows as the others run dry.
    await expect.poll(() => running(last), soon).toBe(4)
    await expect.poll(() => reached.size, soon).toBe(60 - (byPart.get(last)?.length ?? 0) + 4)
    for (const { release } of holds) release()
    await line.idle()

    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(60)
  })

  test(`a worker that stops gives back the jobs that waited for a slot (${engine})`, async ({ open, peer }) => {
    const line = await open(engine, { QUEUE_PARTS: '4', CONCURRENCY: '1', DRAIN_SECONDS: '20' })
    await addPeople(line, peer, 20)
    const held = peer.hold(isReadOf('scores'))
    const working = line.work()
    await line.tick('sync', { streams: ['scores'] })
    await held.reached
    await expect.poll(async () => (await line.pipeline.queue.backlog('manual')).active, soon).toBe(4)

    const closing = working.close()
    await expect.poll(async () => (await line.pipeline.queue.backlog('manual')).active, soon).toBe(1)
    held.release()
    await closing

    expect(await line.pipeline.queue.backlog('manual')).toEqual({ waiting: 19, active: 0, delayed: 0 })
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(1)
  })

  test(`a pause that one job asks for holds in all parts (${engine})`, async ({ open, peer }) => {
    const line = await open(engine, { QUEUE_PARTS: '4', CONCURRENCY: '1' })
    await addPeople(line, peer, 20)
    peer.before = async () => ({ status: 429, headers: { 'retry-after': '600' } })
    line.work()
    await line.tick('sync', { streams: ['scores'] })
    const left = async () => Promise.all((await queuesInUse(line.pipeline.engine, 'manual')).map(pauseLeftMs))

    await expect.poll(async () => Math.min(...(await left())), soon).toBeGreaterThan(60_000)
  })

  test(`a part without a worker is reported, and its jobs are left to the worker that has it (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine, { QUEUE_PARTS: '4' })
    const ids = await addPeople(line, peer, 40)
    const findingTexts = async () =>
      (await examineParts('queue', line.config.queueUrl ?? '', 4)).map(({ state, text }) => [state, text])
    expect(await findingTexts()).toEqual([['note', 'none of its 4 parts has a worker now']])
    const some = await startWorkerProcess(line.settings, 2000, '0-2')
    onTestFinished(() => some.kill())
    await line.tick('sync', { streams: ['scores'] })
    const left = ids.filter((id) => partOf4(id) === 3).length

    await expect.poll(() => countsOf(line, 4), soon).toEqual([0, 0, 0, left])
    await expect.poll(() => findUnservedParts(line.pipeline.engine), soon).toEqual([3])
    expect(await countWorkersOfAllParts(line.pipeline)).toBe(0)
    const status = await runProgram(['status'], { cwd: process.cwd(), env: line.settings })
    expect(status.stdout).toContain('! parts 3 of 4 have no worker: vitalsync worker --parts 3')
    expect(await findingTexts()).toEqual([['wrong', 'parts 3 of 4 have no worker']])
    const others = await startWorkerProcess(line.settings, 2000, '3')
    onTestFinished(() => others.kill())
    await line.idle()

    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(40)
    expect(await findingTexts()).toEqual([['well', 'each of its 4 parts has a worker']])
    await expect.poll(() => countWorkersOfAllParts(line.pipeline), soon).toBe(2)
  })
}

test('a worker refuses parts that there are not, and to drain some parts only', async ({ open }) => {
  const { settings } = await open('postgres', { QUEUE_PARTS: '4' })
  const refused = async (...words: string[]) => {
    const { code, stderr } = await runProgram(['worker', ...words], { cwd: process.cwd(), env: settings })
    return [code, stderr]
  }

  expect(await refused('--parts', '2-4')).toEqual([2, expect.stringContaining('the queue has 4 (QUEUE_PARTS)')])
  expect(await refused('--parts', '0-3', '--drain')).toEqual([2, expect.stringContaining('Leave out --parts')])
})

test('pausing a lane again for less does not end the longer pause of any part', async ({ open }) => {
  const { engine } = (await open('postgres', { QUEUE_PARTS: '2' })).pipeline
  const queues = await queuesInUse(engine, 'nightly')
  await pauseLane(queues.slice(1), 60_000)
  await pauseLane(queues, 2000)

  const [first = 0, second = 0] = await Promise.all(queues.map(pauseLeftMs))
  expect(first).toBeLessThanOrEqual(2000)
  expect(second).toBeGreaterThan(50_000)
})
