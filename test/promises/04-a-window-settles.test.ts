import { expect } from 'vitest'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { requireGivenAddresses } from '../../src/operations/addresses.ts'
import { accountDigest } from '../../src/pipeline/upstream/client.ts'
import { daysAgo, scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

test('the unsettled tail is read again, and what comes late there is found', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(10, 0.1), scoreOf(1, 0.2)])
  line.work()
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()
  const [covered] = await line.rows(
    `select to_json(upper(covered)) #>> '{}' as upto from vitalsync.ledger where stream = 'scores'`,
  )
  const upto = Date.parse(String(covered?.['upto']))
  expect(Date.now() - upto).toBeGreaterThanOrEqual(72 * HOUR)
  expect(Date.now() - upto).toBeLessThan(72 * HOUR + DAY / 24)

  peer.give('ada', 'scores', [scoreOf(10, 0.1), scoreOf(2, 0.4, { note: 'late' }), scoreOf(1, 0.3)])
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()

  const [again] = peer.asked('scores').slice(-1)
  expect(Date.parse(again?.[1] ?? '')).toBe(upto)
  expect(await line.rows('select value, revision from vitalsync.scores order by score_date_time')).toEqual([
    { value: 0.1, revision: 1 },
    { value: 0.4, revision: 1 },
    { value: 0.3, revision: 2 },
  ])
})

test('204 is a reading like any other: what has settled is covered and not asked for again', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.profiles.add('ada')
  line.work()

  for (let times = 0; times < 2; times += 1) {
    await line.tick('backfill', { from: Date.parse(daysAgo(20)), to: Date.parse(daysAgo(10)), streams: ['scores'] })
    await line.idle()
  }

  expect(peer.asked('scores')).toHaveLength(1)
})

test('a request that was sent before the day had settled does not cover it, however late the answer', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [])
  const held = peer.hold((seen) => seen.path.includes('/score/'), 'after')
  const sentAt = Date.now()
  line.work()

  await line.tick('sync', { streams: ['scores'] })
  await held.reached
  const answeredAt = Date.now()
  peer.give('ada', 'scores', [scoreOf(3, 0.9)])
  held.release()
  await line.idle()

  const [covered] = await line.rows(
    `select to_json(upper(covered)) #>> '{}' as upto from vitalsync.ledger where stream = 'scores'`,
  )
  const upto = Date.parse(String(covered?.['upto']))
  expect(upto).toBeLessThanOrEqual(answeredAt - 72 * HOUR)
  expect(upto).toBeGreaterThan(sentAt - 72 * HOUR - 5000)
})

test('a worker computes the settle times from what any process has counted', async ({ open }) => {
  const line = await open('postgres')
  const { url, clientId } = requireGivenAddresses(line.config).upstream
  await line.rows(
    `insert into vitalsync.lateness (account, stream, observed_on, bin, seen, came, changed)
     values ($1, 'scores', current_date, 3, 5, 0, 0)`,
    [accountDigest(url, clientId)],
  )
  const computed = () => line.rows('select stream, days from vitalsync.settle_times')
  expect(await computed()).toEqual([])

  line.work()

  await expect.poll(computed).toEqual([{ stream: 'scores', days: 1 }])
})
