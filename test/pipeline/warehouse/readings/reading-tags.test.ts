import { expect } from 'vitest'
import { DAY } from '../../../../src/base/time/units.ts'
import type { Reading } from '../../../../src/pipeline/transfer/reading.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { soon } from '../../../support/fixtures.ts'
import { peopleNames } from '../../../support/insert-people.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { testDivision } from '../../../support/test-pool.ts'
import {
  connect,
  march,
  marchMs,
  openTestWriter,
  scoreRecord,
  scoresReading,
  test,
  type Warehouse,
} from '../../../support/test-warehouse.ts'

const left = { startMs: marchMs(1), endMs: marchMs(5) }
const right = { startMs: marchMs(5), endMs: marchMs(9) }
const score = (day: number, value = 0.5) => scoreRecord({ scoreDateTime: march(day, '06:00:00Z'), value })

const stream = streamByName('biomarkers')
/** It lies across the edge between the two windows. */
const night = (value: string) => ({
  type: 'deep',
  category: 'sleep',
  periodicity: 'daily',
  aggregation: 'total',
  startDateTime: march(4, '18:00:00Z'),
  endDateTime: march(5, '18:00:00Z'),
  value,
})

async function openAda(warehouse: Warehouse) {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const sentAtMs = (laterMs: number) => warehouse.startedAtMs - 60_000 + laterMs
  const store = (laterMs: number, more: Partial<Omit<Reading, 'records'>> & { records: object[] }) =>
    warehouse.writer.store(scoresReading({ profileId: ada, window: left, sentAtMs: sentAtMs(laterMs), ...more }))
  return {
    ada,
    store,
    unchanged: (laterMs: number, tag: string, more: Partial<Omit<Reading, 'records'>> = {}) =>
      store(laterMs, { records: [], tag, unchanged: true, ...more }),
    tags: async () =>
      (await warehouse.rows('select tag from vitalsync.reading_tags order by from_at, to_at')).map(({ tag }) => tag),
  }
}

test('an unchanged reading covers and is the newest reading, and touches no record', async ({ warehouse }) => {
  const { ada, store, unchanged, tags } = await openAda(warehouse)
  await store(0, { records: [score(2)], tag: '"a"' })
  await warehouse.rows(`update vitalsync.ledger set covered = '{}'`)
  const refusal = { profileId: ada, stream: 'scores', window: left, status: undefined, reason: 'it would not answer' }
  await warehouse.ledger.recordRefusal(refusal)

  expect(await unchanged(10, '"a"')).toMatchObject({ outcome: 'stored', read: 0, written: 0 })

  expect(await warehouse.covered(ada, 'scores')).toContain('2026-03-01')
  expect(await warehouse.rows('select 1 from vitalsync.refusals')).toEqual([])
  expect(await warehouse.rows('select revision, gone_at from vitalsync.scores')).toEqual([
    { revision: 1, gone_at: null },
  ])
  expect(await tags()).toEqual(['"a"'])
  // An older answer that comes later brings nothing back.
  await store(5, { records: [score(2, 0.9)], tag: '"b"' })
  expect(await warehouse.rows('select value from vitalsync.scores')).toEqual([{ value: 0.5 }])
})

test('a changed reading is compared with the records of its own window alone, however many unchanged ones are committed with it', async ({
  warehouse,
  warehouseUrl,
  skip,
}) => {
  skip(isDistributed, 'it asks one Postgres for all rows that were read')
  const ids = await warehouse.addProfiles(...peopleNames(30))
  const pool = openWarehousePool({ databaseUrl: warehouseUrl, connectionsMax: 1, name: 'test', pipeline: true })
  const writer = openTestWriter(pool)
  const storeAll = (
    laterMs: number,
    readingOf: (index: number) => Partial<Omit<Reading, 'records'>> & { records: object[] },
  ) =>
    Promise.all(
      ids.map((profileId, index) => {
        const sentAtMs = warehouse.startedAtMs - 60_000 + laterMs
        return writer.store(scoresReading({ profileId, window: left, sentAtMs, ...readingOf(index) }))
      }),
    )
  const recordsRead = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ n: number }>(
      `select sum(idx_tup_read)::float8 as n from pg_stat_user_indexes where relname = 'scores'`,
    )
    return rows[0]?.n ?? Number.NaN
  }
  await storeAll(0, () => ({ records: [score(1), score(2), score(3), score(4)], tag: '"a"' }))
  const before = await recordsRead()

  const stored = await storeAll(10, (index) =>
    index === 7
      ? { records: [score(1), score(2, 0.9), score(3), score(4)], tag: '"b"' }
      : { records: [], tag: '"a"', unchanged: true },
  )

  const after = await recordsRead()
  await writer.close()
  await pool.end()
  expect(stored.map(({ written }) => written)).toEqual(ids.map((_, index) => (index === 7 ? 1 : 0)))
  // Four to compare, and the changed one when it goes to the history and is replaced.
  expect(after - before).toBeLessThanOrEqual(8)
})

test('an older answer that comes later brings back no record across the edge that the unchanged answer held', async ({
  warehouse,
}) => {
  const { store, unchanged } = await openAda(warehouse)
  await store(0, { stream, records: [night('1')], tag: '"a"' })
  await unchanged(10, '"a"', { stream })

  await store(5, { stream, records: [night('2')] })

  expect(await warehouse.rows('select value from vitalsync.biomarkers')).toEqual([{ value: '1' }])
})

test('an unchanged reading about a tag that is held no more says nothing', async ({ warehouse }) => {
  const { ada, store, unchanged } = await openAda(warehouse)
  await store(0, { records: [score(2)], tag: '"a"' })
  await store(5, { records: [score(2, 0.6)], tag: '"b"' })
  await warehouse.rows(`update vitalsync.ledger set covered = '{}'`)

  expect(await unchanged(10, '"a"')).toMatchObject({ outcome: 'outdated' })
  expect(await unchanged(11, '"b"', { window: right })).toMatchObject({ outcome: 'outdated' })
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')

  await warehouse.addProfiles('bob')
  await warehouse.rows(`update vitalsync.ledger set tagged = profile_id <> $1 or stream <> 'scores'`, [ada])
  expect(await unchanged(12, '"b"')).toMatchObject({ outcome: 'outdated' })
  await warehouse.profiles.erase(ada)
  expect(await unchanged(13, '"b"')).toMatchObject({ outcome: 'erased' })
  expect(await warehouse.rows('select 1 from vitalsync.reading_tags')).toEqual([])
})

test('an unchanged reading says nothing about a tag of another person, stream, window or request', async ({
  warehouse,
}) => {
  const { ada, store, unchanged } = await openAda(warehouse)
  const [bob = ''] = await warehouse.addProfiles('bob')
  await store(0, { records: [score(2)], tag: '"ada"' })
  await store(0, { profileId: bob, records: [score(2)], tag: '"bob"' })
  expect(await warehouse.rows('select stream from vitalsync.ledger where tagged and profile_id = $1', [ada])).toEqual([
    { stream: 'scores' },
  ])
  const others = [
    [`'biomarkers', from_at, to_at`, '"stream"'],
    [`stream, from_at - interval '1 second', to_at`, '"start"'],
    [`stream, from_at, to_at + interval '1 second'`, '"end"'],
  ] as const
  for (const [place, tag] of others)
    await warehouse.rows(
      `insert into vitalsync.reading_tags select profile_id, ${place}, $1, request_hash, edges, read_at
       from vitalsync.reading_tags where tag = '"ada"'`,
      [tag],
    )

  for (const tag of ['"bob"', '"stream"', '"start"', '"end"'])
    expect(await unchanged(10, tag), tag).toMatchObject({ outcome: 'outdated' })
  await warehouse.rows('update vitalsync.reading_tags set request_hash = request_hash + 1')
  expect(await unchanged(20, '"ada"')).toMatchObject({ outcome: 'outdated' })
})

test('an unchanged reading says nothing about a tag that was dropped while it waited for the ledger row', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { ada, store, unchanged } = await openAda(warehouse)
  await store(0, { records: [score(2)], tag: '"a"' })
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.ledger where profile_id = $1 for update', [ada])
  const answered = unchanged(10, '"a"')
  await expect.poll(() => countLockWaiters(warehouse.rows), soon).toBe(1)

  await other.query('delete from vitalsync.reading_tags where profile_id = $1', [ada])
  await other.query('commit')

  expect(await answered).toMatchObject({ outcome: 'outdated' })
  await other.end()
})

test('an unchanged reading that fails says why the first of its statements failed', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { ada, store } = await openAda(warehouse)
  await store(0, { records: [score(2)], tag: '"a"' })
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.ledger where profile_id = $1 for update', [ada])
  const options = { databaseUrl: warehouseUrl, connectionsMax: 2, name: 'test', pipeline: true }
  const pool = openWarehousePool({ ...options, division: testDivision, statementTimeoutMs: 200 })
  const writer = openTestWriter(pool)

  const reading = { profileId: ada, window: left, sentAtMs: warehouse.startedAtMs, records: [] }
  const storing = writer.store(scoresReading({ ...reading, tag: '"a"', unchanged: true }))
  await expect(storing).rejects.toThrow(/timeout|took too long/) // a divided warehouse says it in words of its own

  await writer.close()
  await pool.end()
  await other.end()
})

test('a tag that no longer counts does not count again with the next tag', async ({ warehouse }) => {
  const { store, tags } = await openAda(warehouse)
  await store(0, { records: [score(2)], tag: '"a"' })
  await store(0, { window: right, records: [score(6)], tag: '"b"' })
  expect(await tags()).toEqual(['"a"', '"b"'])
  await warehouse.rows('update vitalsync.ledger set tagged = false')

  await store(10, { window: right, records: [score(6)], tag: '"c"' })

  expect(await tags()).toEqual(['"c"'])
})

test('a reading drops the tags of the windows whose records it changed, and no others', async ({ warehouse }) => {
  const { store, tags } = await openAda(warehouse)
  const whole = { startMs: left.startMs, endMs: right.endMs }
  await store(0, { records: [score(2)], tag: '"left"' })
  await store(0, { window: right, records: [score(6)], tag: '"right"' })

  await store(10, { window: whole, records: [score(2), score(6)], tag: '"same"' })
  expect(await tags()).toEqual(['"left"', '"same"', '"right"'])
  // Nothing is dropped by an answer without a tag that ends where another window ends.
  await store(15, { window: { ...left, startMs: marchMs(3) }, records: [] })
  expect(await tags()).toEqual(['"left"', '"same"', '"right"'])
  await store(20, { window: whole, records: [score(2), score(6, 0.9)] })
  expect(await tags()).toEqual(['"left"'])
  await store(30, { window: whole, records: [score(6, 0.9)] })
  expect(await tags()).toEqual([])
})

test('a record on the edge between two windows drops the tags of both', async ({ warehouse }) => {
  const { store, tags } = await openAda(warehouse)
  const edge = (value: number) => scoreRecord({ scoreDateTime: march(5), value })
  await store(0, { records: [score(2)], tag: '"left"' })
  await store(0, { window: right, records: [score(6)], tag: '"right"' })

  await store(10, { records: [score(2), edge(0.1)], tag: '"left again"' })
  expect(await tags()).toEqual(['"left again"'])
  await store(20, { window: right, records: [edge(0.2), score(6)], tag: '"right again"' })
  expect(await tags()).toEqual(['"right again"'])
})

test('a reading that was overtaken, or that has an invalid record, keeps no tag', async ({ warehouse }) => {
  const { store, tags } = await openAda(warehouse)
  await store(10, { window: right, records: [score(6)] })
  await store(5, { window: { startMs: left.startMs, endMs: right.startMs + DAY }, records: [score(2)], tag: '"old"' })
  await store(20, { records: [], invalid: [{ path: 'type', reason: 'missing', raw: '{}' }], tag: '"odd"' })
  await store(30, { records: [score(2)], tag: '"pending"', word: 'pending' })

  expect(await tags()).toEqual([])
})

test('a record that ends earlier than before drops the tags of the windows into which it reached', async ({
  warehouse,
}) => {
  const { store, tags } = await openAda(warehouse)
  const stream = streamByName('tags')
  const fever = (endDateTime: string) => ({
    ...{ type: 'illness', name: 'fever', source: 'app', category: 'health', value: '1' },
    startDateTime: march(4, '18:00:00Z'),
    endDateTime,
  })
  await store(0, { stream, window: left, records: [fever(march(5, '18:00:00Z'))], tag: '"left"' })
  await store(0, { stream, window: right, records: [fever(march(5, '18:00:00Z'))], tag: '"right"' })

  await store(10, { stream, window: left, records: [fever(march(4, '20:00:00Z'))], tag: '"shorter"' })

  expect(await tags()).toEqual(['"shorter"'])
})

test('an answer with a record that a newer reading of the neighbouring window held leaves no tag', async ({
  warehouse,
}) => {
  const { store, tags } = await openAda(warehouse)
  await store(10, { stream, window: right, records: [night('2')], tag: '"right"' })

  await store(5, { stream, window: left, records: [night('1')], tag: '"left"' })

  expect(await warehouse.rows('select value from vitalsync.biomarkers')).toEqual([{ value: '2' }])
  expect(await tags()).toEqual(['"right"'])
})

test('a ledger row keeps a hundred tags, those that came last, whatever came to other rows', async ({ warehouse }) => {
  const { ada, store } = await openAda(warehouse)
  const [bob = ''] = await warehouse.addProfiles('bob')
  const window = (index: number) => ({ startMs: left.startMs + index * 1000, endMs: left.startMs + index * 1000 + 500 })
  const storeTag = (index: number) => store(index, { window: window(index), records: [], tag: `"${index}"` })
  for (let index = 0; index < 102; index += 1) await storeTag(index)
  for (const [profileId, other] of [
    [ada, 'biomarkers'],
    [bob, 'scores'],
  ])
    await warehouse.rows(
      `insert into vitalsync.reading_tags
       select $1::bigint, $2, from_at, to_at, tag, request_hash, edges, read_at + interval '1 day'
       from vitalsync.reading_tags where profile_id = $3 and stream = 'scores'`,
      [profileId, other, ada],
    )
  await storeTag(102)

  const kept = await warehouse.rows(
    `select tag from vitalsync.reading_tags where profile_id = $1 and stream = 'scores' order by from_at`,
    [ada],
  )
  expect(kept.map(({ tag }) => tag)).toEqual(Array.from({ length: 100 }, (_, index) => `"${index + 3}"`))
})
