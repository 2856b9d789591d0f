import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

const range = { from: daysAgoMs(20), to: daysAgoMs(2), streams: ['scores'] }

test('an answer that was made before, and comes after, changes nothing', async ({ open, peer }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(10, 0.1), scoreOf(9, 0.1)])
  const held = peer.hold(isReadOf('scores'), 'after')
  line.work()

  // Two jobs of one profile at once: a back-fill is under way when a sync begins.
  await line.tick('backfill', range)
  await held.reached
  peer.give('ada', 'scores', [scoreOf(10, 0.8)])
  await line.tick('sync', { streams: ['scores'] })
  await expect
    .poll(() => line.rows('select value from vitalsync.scores where profile_id = $1', [ada]), soon)
    .toEqual([{ value: 0.8 }])
  held.release()
  await line.idle()

  expect(await line.rows('select value, revision, gone_at from vitalsync.scores')).toEqual([
    { value: 0.8, revision: 1, gone_at: null },
  ])
})
