import { expect } from 'vitest'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import {
  believing,
  connect,
  march,
  marchMs,
  scoreRecord,
  scoresReading,
  settle,
  test,
  type Warehouse,
} from '../../../support/test-warehouse.ts'

const writerOptions = { now: Date.now, commitsAtOnce: 2, belief: believing, settle, account: 'test' }

const all = 'select type, score_date_time, value, gone_at, revision from vitalsync.scores order by 2, 1'
const rowLocationsOf = async ({ rows }: Warehouse) =>
  rows('select xmin::text, ctid::text from vitalsync.scores order by 1, 2')

const four = [
  scoreRecord({ scoreDateTime: march(1), value: 0.71 }),
  scoreRecord({ scoreDateTime: march(2), value: 0.55 }),
  scoreRecord({ scoreDateTime: march(2), type: 'activity', value: 0.2 }),
  scoreRecord({ scoreDateTime: march(3), value: 0.64, unheardOf: { kept: [true] } }),
]

test('a reading is stored with its raw text, and its window is covered', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse

  const stored = await writer.store(scoresReading({ profileId: ada, sentAtMs, records: four }))

  expect(stored).toEqual({ outcome: 'stored', read: 4, written: 4, invalid: 0 })
  expect((await rows(all)).map((row) => row['value'])).toEqual([0.71, 0.2, 0.55, 0.64])
  expect((await rows(`select body from vitalsync.scores where value = 0.64`))[0]?.['body']).toBe(
    JSON.stringify(four[3]),
  )
  expect(await warehouse.covered(ada, 'scores')).toBe('{["2026-03-01 00:00:00+00","2026-03-05 00:00:00+00")}')
})

test('a reading equal to the stored records touches no record row', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, startedAtMs } = warehouse
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: four }))
  const before = await rowLocationsOf(warehouse)

  const stored = await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: four }))

  expect(stored).toMatchObject({ read: 4, written: 0 })
  expect(await rowLocationsOf(warehouse)).toEqual(before)
  expect(await warehouse.rows('select 1 from vitalsync.history')).toEqual([])
})

test('a changed record keeps its former self, with the time in which we believed it', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const was = scoreRecord({ scoreDateTime: march(2), value: 0.1 })
  const is = scoreRecord({ scoreDateTime: march(2), value: 0.9 })
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [was] }))

  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: [is] }))

  expect(await rows('select value, revision from vitalsync.scores')).toEqual([{ value: 0.9, revision: 2 }])
  const kept = await rows(
    'select body::jsonb as raw, revision, lower(recorded) as since, upper(recorded) as until from vitalsync.history',
  )
  expect(kept).toEqual([{ raw: was, revision: 1, since: new Date(startedAtMs), until: new Date(startedAtMs + 10) }])
})

test('a record that disappears upstream is marked gone, and is unmarked when it comes back', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: four }))

  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: four.slice(1) }))
  const gone = await rows(all)
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 20, records: four }))

  expect(gone[0]).toMatchObject({ value: 0.71, gone_at: new Date(startedAtMs + 10), revision: 2 })
  expect(gone.slice(1).map((row) => row['gone_at'])).toEqual([null, null, null])
  expect((await rows(all))[0]).toMatchObject({ value: 0.71, gone_at: null, revision: 3 })
  expect(await rows('select revision, gone_at from vitalsync.history order by 1')).toEqual([
    { revision: 1, gone_at: null },
    { revision: 2, gone_at: new Date(startedAtMs + 10) },
  ])
})

test('nothing beyond a window is called gone, and nothing while a part of the answer could not be read', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const outside = [scoreRecord({ scoreDateTime: march(5) }), scoreRecord({ scoreDateTime: '2026-02-28T23:59:59.999Z' })]
  const wide = { startMs: marchMs(1) - 86_400_000, endMs: marchMs(9) }
  await writer.store(
    scoresReading({ profileId: ada, sentAtMs: startedAtMs, window: wide, records: [...outside, ...four] }),
  )

  const odd = [{ path: 'type', reason: 'missing', raw: '{}' }]
  await writer.store(
    scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: four.slice(1), invalid: odd }),
  )
  expect(await rows('select 1 from vitalsync.scores where gone_at is not null')).toEqual([])

  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 20, records: [] }))
  const left = await rows('select score_date_time from vitalsync.scores where gone_at is null order by 1')
  expect(left).toEqual([
    { score_date_time: new Date('2026-02-28T23:59:59.999Z') },
    { score_date_time: new Date(march(5)) },
  ])
})

test('of two records of one name in one answer the first counts', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const twice = [
    scoreRecord({ scoreDateTime: march(2), value: 0.9 }),
    scoreRecord({ scoreDateTime: march(2), value: 0.1 }),
  ]

  const stored = await warehouse.writer.store(
    scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records: twice }),
  )

  expect(stored).toMatchObject({ written: 1 })
  expect(await warehouse.rows('select value from vitalsync.scores')).toEqual([{ value: 0.9 }])
})

test('the same instant said with another offset is the same record', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const there = scoreRecord({ scoreDateTime: '2026-03-02T14:00:00+14:00' })
  const here = scoreRecord({ scoreDateTime: '2026-03-01T12:00:00-12:00' })
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [there] }))
  expect(await rows('select local_date::text from vitalsync.scores')).toEqual([{ local_date: '2026-03-02' }])

  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: [here] }))

  expect(await rows('select local_date::text, revision from vitalsync.scores')).toEqual([
    { local_date: '2026-03-01', revision: 2 },
  ])
})

test('many readings handed in at once are one transaction', async ({ warehouse }) => {
  const people = await warehouse.addNeighbours(20)
  const { writer, rows, startedAtMs: sentAtMs } = warehouse

  await Promise.all(people.map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: four }))))

  const transactions = await rows('select xmin::text, count(*)::int from vitalsync.scores group by 1')
  expect(transactions).toEqual([{ xmin: expect.any(String), count: 80 }])
})

test('few readings that come while a commit is under way wait for it and share the next transaction, many do not', async ({
  warehouse,
  warehouseUrl,
}) => {
  const [ada = '', ...others] = await warehouse.addNeighbours(4)
  const { pool, rows, startedAtMs: sentAtMs } = warehouse
  const writer = openReadingWriter({ ...writerOptions, pool, rowsPerCommit: 3 * four.length })
  const other = await connect(warehouseUrl)
  const store = (profileId = '') => writer.store(scoresReading({ profileId, sentAtMs, records: four }))
  await other.query('begin')
  await other.query('select 1 from vitalsync.ledger where profile_id = $1 for update', [ada])
  const first = store(ada)
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)

  const few = others.slice(0, 2).map((profileId) => store(profileId))
  for (let turn = 0; turn < 5; turn += 1) await rows('select 1')
  expect(await rows('select 1 from vitalsync.scores')).toEqual([])
  await Promise.all([...few, store(others[2])])

  expect(await rows('select count(*)::int as n from vitalsync.scores group by xmin::text')).toEqual([{ n: 12 }])
  await other.query('commit')
  await first
  await writer.close()
  await other.end()
})

test('a person who is not ours any more gets nothing stored', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { writer, rows, profiles, startedAtMs: sentAtMs } = warehouse
  await profiles.erase(ada)

  const [first, second] = await Promise.all(
    [ada, bob].map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: four }))),
  )

  expect(first).toMatchObject({ outcome: 'erased', written: 0 })
  expect(second).toMatchObject({ outcome: 'stored', written: 4 })
  expect(await rows('select distinct profile_id from vitalsync.scores')).toEqual([{ profile_id: bob }])
})

test('a reading that waits for a lock holds up none of other people, nor does another of its own person', async ({
  warehouse,
  warehouseUrl,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { pool, rows, startedAtMs: sentAtMs } = warehouse
  const writer = openReadingWriter({ ...writerOptions, pool, rowsPerCommit: 1 })
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select 1 from vitalsync.ledger where profile_id = $1 for update', [ada])
  const first = writer.store(scoresReading({ profileId: ada, sentAtMs, records: four }))
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)

  const second = writer.store(scoresReading({ profileId: ada, sentAtMs: sentAtMs + 10, records: four }))
  const theirs = await writer.store(scoresReading({ profileId: bob, sentAtMs, records: four }))

  expect(theirs).toMatchObject({ written: 4 })
  await other.query('commit')
  expect(await Promise.all([first, second])).toMatchObject([{ written: 4 }, { written: 0 }])
  await writer.close()
  await other.end()
})
