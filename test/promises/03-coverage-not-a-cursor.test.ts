import { expect } from 'vitest'
import { DAY } from '../../src/base/time/units.ts'
import { isReadOf } from '../support/peer.ts'
import { json } from '../support/profile-stub.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { scores } from '../support/stream-by-name.ts'
import { test } from '../support/test-pipeline.ts'

/** The most days that one request may read. */
const whole = scores.windowMs / DAY
const range = { from: daysAgoMs(120), to: daysAgoMs(10), streams: ['scores'] }

test('a backfill asks for the uncovered windows, newest first, and for none twice', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(100, 0.1), scoreOf(50, 0.2), scoreOf(20, 0.3)])
  line.work()

  await line.tick('backfill', { ...range, from: daysAgoMs(70), to: daysAgoMs(40) })
  await line.idle()
  expect(peer.asked('scores')).toEqual([['ada', daysAgo(70), daysAgo(40)]])

  await line.tick('backfill', range)
  await line.idle()
  const asked = peer.asked('scores').slice(1)
  expect([...asked].sort()).toEqual([
    ['ada', daysAgo(120), daysAgo(70 + whole)],
    ['ada', daysAgo(70 + whole), daysAgo(70)],
    ['ada', daysAgo(40), daysAgo(10)],
  ])
  expect(asked[0]).toEqual(['ada', daysAgo(40), daysAgo(10)])

  await line.tick('backfill', range)
  await line.idle()
  expect(peer.asked('scores')).toHaveLength(4)
  expect(await line.rows('select value from vitalsync.scores order by 1')).toHaveLength(3)
})

test('nothing advances past a hole', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.profiles.add('ada')
  await line.rows('update vitalsync.profiles set wanted_from = $1', [daysAgo(120)])
  const isHole = isReadOf('scores')
  const before = peer.before
  const hole = 10 + 3 * whole
  const broken = `startDateTime=${daysAgo(hole)}`
  peer.before = (seen) =>
    isHole(seen) && decodeURIComponent(seen.path).includes(broken) ? json(400, { title: 'Bad' }) : before(seen)
  const checkpoint = async () => {
    const [row] = await line.rows(`select checkpoint, covered::text from warehouse.coverage where stream = 'scores'`)
    return row
  }
  line.work()

  await line.tick('backfill', range)
  await line.idle()
  expect((await checkpoint())?.['checkpoint']).toEqual(new Date(daysAgo(hole)))
  expect(String((await checkpoint())?.['covered'])).toContain(daysAgo(10).slice(0, 10))

  peer.before = before
  await line.rows('update vitalsync.refusals set next_try_at = now()')
  await line.tick('backfill', range)
  await line.idle()
  expect((await checkpoint())?.['checkpoint']).toEqual(new Date(daysAgo(10)))
})

test('a backfill of someone who is new registers them first', async ({ open, peer }) => {
  const line = await open('postgres')
  const wantedFrom = new Date(daysAgoMs(30))
  await line.pipeline.profiles.add(['ada'], { wantedFrom, state: 'new' })
  line.work()

  await line.tick('backfill', range)
  await line.idle()

  expect(peer.profiles.has('ada')).toBe(true)
  expect(peer.asked('scores')).toHaveLength(4)
  expect(await line.rows('select state from vitalsync.profiles')).toEqual([{ state: 'active' }])
  expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
})
