import { expect } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import { startWorkerProcess } from '../chaos/workers.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf, isUpload } from '../support/peer.ts'
import { json } from '../support/profile-stub.ts'
import { daysAgoMs } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const LOGS = 400

/** Logs of many days, as many as take several requests. */
async function handIn({ pipeline }: TestPipeline, profileId: string, count = LOGS): Promise<void> {
  const items = Array.from({ length: count }, (_, index) => {
    const startAtMs = daysAgoMs(30) + index * HOUR
    const itemKey = `${profileId}-${index}`
    const body = JSON.stringify({ id: itemKey })
    return { profileId, stream: 'data-logs', itemKey, body, startAtMs, endAtMs: startAtMs + HOUR }
  })
  await pipeline.outbox.add(items)
}

const pushedByRun = (line: TestPipeline) =>
  line.rows(
    `select kind, items_pushed::int as pushed, items_pushed_elsewhere::int as elsewhere from warehouse.runs order by id`,
  )

test('the pushed items of a job are counted though the job failed afterwards, and no run counts them again', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  await handIn(line, ada)
  const answerFirst = peer.before
  let refusals = 0
  peer.before = async (seen) => {
    if (!isReadOf('scores')(seen)) return answerFirst(seen)
    refusals += 1
    return json(404, { title: 'Not Found' })
  }
  line.work()

  const run = await line.tick('sync')
  await line.idle()
  expect(refusals).toBeGreaterThan(0)
  expect(await line.pipeline.runs.get(run.id)).toMatchObject({ failed: 1, itemsPushed: LOGS })

  peer.before = answerFirst
  await line.tick('sync')
  await line.idle()
  expect(await pushedByRun(line)).toEqual([
    { kind: 'sync', pushed: LOGS, elsewhere: 0 },
    { kind: 'sync', pushed: 0, elsewhere: 0 },
  ])
})

for (const engine of queueKinds) {
  test(`a sync whose profiles the sweep pushed says so, and together they add up (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine)
    const [ada = '', bob = ''] = await line.addProfiles('ada', 'bob')
    for (const name of ['ada', 'bob']) peer.profiles.add(name)
    await handIn(line, ada)
    await handIn(line, bob, 5)
    const held = [peer.hold(isUpload), peer.hold(isUpload)]
    const sweep = await line.tick('sweep')
    line.work()
    await Promise.all(held.map(({ reached }) => reached))

    const sync = await line.tick('sync')
    for (const { release } of held) release()
    await line.idle()

    expect(await line.pipeline.runs.get(sweep.id)).toMatchObject({ itemsPushed: LOGS + 5, itemsPushedElsewhere: 0 })
    expect(await line.pipeline.runs.get(sync.id)).toMatchObject({ itemsPushed: 0, itemsPushedElsewhere: LOGS + 5 })
  })

  test(`a worker that is killed while it pushes is counted by what upstream took (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine)
    const [ada = ''] = await line.addProfiles('ada')
    peer.profiles.add('ada')
    await handIn(line, ada)
    const held = peer.hold(isUpload)
    const afterwards = peer.hold(isUpload)
    const run = await line.tick('sync')
    const first = await startWorkerProcess(line.settings)
    onTestFinished(() => first.kill())
    await held.reached
    held.release()
    await afterwards.reached
    await first.kill()
    afterwards.release()

    const second = await startWorkerProcess(line.settings)
    onTestFinished(() => second.kill())

    await expect.poll(async () => (await line.pipeline.runs.get(run.id))?.state, soon).toBe('done')
    expect(await line.pipeline.runs.get(run.id)).toMatchObject({ done: 1, itemsPushed: LOGS })
    expect(peer.logs.size).toBe(LOGS)
    expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
  })
}
