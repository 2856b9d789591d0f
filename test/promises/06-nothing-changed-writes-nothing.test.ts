import { expect } from 'vitest'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

test('a second reading of the same writes no record row; what changed is kept, what vanished is marked', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  const scores = [scoreOf(12, 0.1), scoreOf(11, 0.2), scoreOf(10, 0.3)]
  peer.give('ada', 'scores', scores)
  const again = { from: daysAgoMs(20), to: daysAgoMs(5), streams: ['scores'], again: true }
  const places = () => line.rows('select xmin::text, ctid::text from vitalsync.scores order by score_date_time')
  line.work()
  await line.tick('backfill', again)
  await line.idle()
  const before = await places()

  await line.tick('backfill', again)
  await line.idle()
  expect(await places()).toEqual(before)

  peer.give('ada', 'scores', [scoreOf(11, 0.9), scoreOf(10, 0.3)])
  await line.tick('backfill', again)
  await line.idle()

  const after = await line.rows(
    'select value, revision, gone_at is not null as gone from vitalsync.scores order by score_date_time',
  )
  expect(after).toEqual([
    { value: 0.1, revision: 2, gone: true },
    { value: 0.9, revision: 2, gone: false },
    { value: 0.3, revision: 1, gone: false },
  ])
  expect((await places())[2]).toEqual(before[2])
  const history = await line.rows(`select raw -> 'value' as value from warehouse.history order by 1`)
  expect(history).toEqual([{ value: 0.1 }, { value: 0.2 }])
})
