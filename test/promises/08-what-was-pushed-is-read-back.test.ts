import { expect } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import { isReadOf, isUpload } from '../support/peer.ts'
import { daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'

const sync = { streams: ['scores'] }
const log = (profileId: string, days: number) => ({
  profileId,
  stream: 'data-logs' as const,
  itemKey: `log-${days}`,
  body: JSON.stringify({ id: `log-${days}` }),
  startAtMs: daysAgoMs(days),
  endAtMs: daysAgoMs(days) + HOUR,
})

test('a pushed day is read again though it was covered, and what upstream made of it is found', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(20, 0.1)])
  line.work()
  await line.tick('sync', sync)
  await line.idle()
  await line.pipeline.outbox.add([log(ada, 20)])
  const held = peer.hold(isUpload)

  await line.tick('sweep')
  await held.reached
  peer.give('ada', 'scores', [scoreOf(20, 0.7)])
  held.release()
  await line.idle()

  expect(await line.rows('select value, revision from vitalsync.scores')).toEqual([{ value: 0.7, revision: 2 }])
  expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
})

test('a reading that upstream calls pending stores its rows and covers nothing, and one that it calls finished does cover', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  const covered = () => line.rows(`select covered <> '{}' as covered from vitalsync.ledger where stream = 'scores'`)
  const range = { from: daysAgoMs(25), to: daysAgoMs(15), ...sync }
  peer.give('ada', 'scores', [scoreOf(20, 0.1), scoreOf(18, 0.2)])
  peer.headers = { 'derivation-state': 'pending' }
  line.work()
  await line.tick('backfill', range)
  await line.idle()
  expect(await line.rows('select value from vitalsync.scores order by value')).toEqual([{ value: 0.1 }, { value: 0.2 }])
  expect(await covered()).toEqual([{ covered: false }])

  // Upstream is in the middle of deriving: what it lacks now is not gone.
  peer.give('ada', 'scores', [scoreOf(18, 0.2)])
  await line.tick('backfill', range)
  await line.idle()
  expect(await line.rows('select 1 from vitalsync.scores where gone_at is not null')).toEqual([])

  peer.give('ada', 'scores', [scoreOf(20, 0.3), scoreOf(18, 0.2)])
  peer.headers = { 'derivation-state': 'finished' }
  await line.tick('backfill', range)
  await line.idle()
  expect(await line.rows('select value from vitalsync.scores order by value')).toEqual([{ value: 0.2 }, { value: 0.3 }])
  expect(await covered()).toEqual([{ covered: true }])
})

test('covered days that somebody else pushed to are covered no more when upstream calls them pending, until it has derived', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', { REREAD_SECONDS: '0,60' })
  await line.addProfiles('ada')
  const isCovered = async () => {
    const [row] = await line.rows(
      `select covered @> to_timestamp($1::float8 / 1000) as covered, digested_at > read_at as next
       from vitalsync.ledger where stream = 'scores'`,
      [daysAgoMs(20)],
    )
    return row
  }
  peer.give('ada', 'scores', [scoreOf(20, 0.1)])
  line.work()
  await line.tick('sync', sync)
  await line.idle()
  expect(await isCovered()).toMatchObject({ covered: true })

  peer.headers = { 'derivation-state': 'pending' }
  await line.tick('backfill', { from: daysAgoMs(25), to: daysAgoMs(15), again: true, ...sync })
  await line.idle()
  expect(await isCovered()).toEqual({ covered: false, next: true })

  // The sweep comes when the next reading counts.
  peer.give('ada', 'scores', [scoreOf(20, 0.3)])
  peer.headers = { 'derivation-state': 'finished' }
  await line.rows('update vitalsync.profiles set due_at = now()')
  await line.tick('sweep')
  await line.idle()
  expect(await isCovered()).toMatchObject({ covered: true })
  expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.3 }])
})

test('a reading begun before a push stores its rows, but does not call the window covered', async ({ open, peer }) => {
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(20, 0.1)])
  const held = peer.hold(isReadOf('scores'), 'after')
  line.work()
  await line.tick('backfill', { from: daysAgoMs(25), to: daysAgoMs(15), ...sync })
  await held.reached

  // Meanwhile upstream accepts a push, and derives other records from it.
  const { outbox } = line.pipeline
  await outbox.add([log(ada, 20)])
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels })
  peer.give('ada', 'scores', [scoreOf(20, 0.7)])
  held.release()
  await line.idle()
  expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.1 }])
  expect(await line.rows(`select covered::text from vitalsync.ledger where stream = 'scores'`)).toEqual([
    { covered: '{}' },
  ])

  await line.tick('sync', sync)
  await line.idle()
  expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.7 }])
})

test('without a derivation state, pushed spans are covered by the second of two readings that agree, and in no other way', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', { SETTLE_MIN_SECONDS: '0', SETTLE_MAX_SECONDS: '0' })
  const [ada = ''] = await line.addProfiles('ada')
  const range = { from: daysAgoMs(25), to: daysAgoMs(15), ...sync }
  const { outbox } = line.pipeline
  peer.give('ada', 'scores', [scoreOf(20, 0.1)])
  await outbox.add([log(ada, 20)])
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels })
  line.work()
  const isCovered = async () => {
    await line.tick('backfill', range)
    await line.idle()
    const [row] = await line.rows(
      `select covered @> to_timestamp($1::float8 / 1000) as is from vitalsync.ledger where stream = 'scores'`,
      [daysAgoMs(20)],
    )
    return row?.['is']
  }

  expect(await isCovered()).toBe(false)
  peer.give('ada', 'scores', [scoreOf(20, 0.7)])
  expect(await isCovered()).toBe(false)
  // Upstream's clock is read by its Date header, to the second.
  await expect.poll(isCovered).toBe(true)
  expect(await line.rows('select value from vitalsync.scores')).toEqual([{ value: 0.7 }])
})
