import { expect } from 'vitest'
import { backfillProfile } from '../../jobs/backfill-profile.ts'
import type { JobContext } from '../../src/pipeline/work/job.ts'
import { isReadOf, type Peer } from '../support/peer.ts'
import { json, type Reply } from '../support/profile-stub.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const range = { from: daysAgoMs(30), to: daysAgoMs(5), streams: ['scores'], again: true }
const scores = [20, 18, 16].map((days) => scoreOf(days, days / 100))

async function fill(line: TestPipeline, peer: Peer): Promise<string> {
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', scores)
  line.work()
  await line.tick('backfill', range)
  await line.idle()
  return ada
}

/** Answers the first reads of scores from now on, as many as there are replies. */
function answerFirst(peer: Peer, ...replies: Reply[]): void {
  const { before } = peer
  peer.before = (seen) => (isReadOf('scores')(seen) ? replies.shift() : undefined) ?? before(seen)
}

const contextOf = ({ pipeline }: TestPipeline, pause: JobContext['pause']): JobContext => ({
  ...pipeline.context,
  pause,
  lane: 'manual',
  lastAttempt: false,
  signal: AbortSignal.timeout(120_000),
})

const gone = async (line: TestPipeline) =>
  (await line.rows('select 1 from vitalsync.scores where gone_at is not null')).length
const refusals = (line: TestPipeline) => line.rows('select reason from vitalsync.refusals')

for (const reply of [{ status: 204 }, json(200, [])]) {
  test(`one empty answer (${reply.status}) where records are stored is read again, and marks nothing gone`, async ({
    open,
    peer,
  }) => {
    const line = await open('postgres')
    await fill(line, peer)
    answerFirst(peer, reply)

    await line.tick('backfill', range)
    await line.idle()

    expect(await gone(line)).toBe(0)
    expect(await refusals(line)).toEqual([])
    expect(peer.asked('scores')).toHaveLength(3)
  })
}

for (const queue of queueKinds) {
  test(`all records gone upstream are gone here after the second reading (${queue})`, async ({ open, peer }) => {
    const line = await open(queue)
    await fill(line, peer)
    peer.give('ada', 'scores', [])

    await line.tick('backfill', range)
    await line.idle()

    expect(await gone(line)).toBe(3)
    expect(await refusals(line)).toEqual([])
  })
}

test('while answers do not agree, nothing is gone and nothing covered, and the window is refused with the reason', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  const ada = await fill(line, peer)
  await line.rows(`update vitalsync.ledger set covered = '{}'`)
  answerFirst(peer, json(200, []), json(200, []))
  // The second answer comes too early to be a second reading.
  const other = await open('postgres', { SECOND_READING_SECONDS: '600' })
  const context = contextOf(other, async () => undefined)

  const counts = await backfillProfile.run({ ...range, profileId: ada }, context)

  expect(counts).toMatchObject({ requests: 2, refused: 1 })
  expect(await gone(line)).toBe(0)
  expect(await line.rows(`select 1 from vitalsync.ledger where covered <> '{}'`)).toEqual([])
  expect(await refusals(line)).toEqual([{ reason: expect.stringContaining('lack most of the stored records') }])
})

test('a first reading is remembered by all processes: after a kill the next reading is the second one', async ({
  open,
  peer,
}) => {
  const killed = await open('postgres')
  const ada = await fill(killed, peer)
  const context = contextOf(killed, () => Promise.reject(new Error('killed')))
  peer.give('ada', 'scores', [])
  await expect(backfillProfile.run({ ...range, profileId: ada }, context)).rejects.toThrow('killed')
  expect(await gone(killed)).toBe(0)
  const asked = peer.asked('scores').length

  await killed.tick('backfill', range)
  await killed.idle()

  expect(await gone(killed)).toBe(3)
  expect(peer.asked('scores')).toHaveLength(asked + 1)
})
