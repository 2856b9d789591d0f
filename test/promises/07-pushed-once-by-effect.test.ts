import { expect } from 'vitest'
import { isReadOf, isUpload } from '../support/peer.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const at = Date.parse('2026-03-02T00:00:00Z')
const logsOf = (profileId: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    profileId,
    stream: 'data-logs' as const,
    itemKey: `log-${index}`,
    body: JSON.stringify({ id: `log-${index}`, value: index }),
    startAtMs: at + index,
    endAtMs: at + index,
  }))
const waiting = ({ rows }: TestPipeline) => rows('select waiting from vitalsync.parcels order by first_end_at')

for (const engine of queueKinds) {
  test(`an upload whose answer is lost is sent again, and has its effect once (${engine})`, async ({ open, peer }) => {
    const line = await open(engine)
    const [ada = ''] = await line.addProfiles('ada')
    peer.profiles.add('ada')
    await line.pipeline.outbox.add(logsOf(ada, 200))
    let lost = 0
    const before = peer.before
    peer.before = (seen) => (isUpload(seen) && lost++ < 4 ? 'lose' : before(seen))

    line.work()
    await line.tick('sync')
    await line.idle()

    expect(await waiting(line)).toEqual([])
    expect(peer.logs.size).toBe(200)
    expect(lost).toBeGreaterThan(4)
    expect(await line.rows('select 1 from vitalsync.quarantine')).toEqual([])
  })
}

test('nothing counts as sent before upstream has said yes', async ({ open, peer }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  await line.pipeline.outbox.add(logsOf(ada, 3))
  const held = peer.hold(isUpload, 'after')

  line.work()
  await line.tick('sync')
  await held.reached
  expect(await waiting(line)).toEqual([{ waiting: 3 }])
  held.release()
  await line.idle()

  expect(await waiting(line)).toEqual([])
})

test('an item that is added while the job of its person reads is pushed by the next sweep', async ({ open, peer }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  const held = peer.hold(isReadOf('scores'))
  line.work()
  await line.tick('sync')
  await held.reached
  await line.pipeline.outbox.add(logsOf(ada, 1))
  held.release()
  await line.idle()
  expect(await waiting(line)).toEqual([{ waiting: 1 }])

  await line.tick('sweep')
  await line.idle()

  expect(await waiting(line)).toEqual([])
  expect(peer.logs.size).toBe(1)
})
