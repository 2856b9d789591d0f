import { expect } from 'vitest'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { latenessBin, noLatenessCounts } from '../../../../src/pipeline/ledger/lateness.ts'
import { computeSettleTimes } from '../../../../src/pipeline/warehouse/ledger/settle-times.ts'
import { openLatenessMeter } from '../../../../src/pipeline/warehouse/readings/lateness-meter.ts'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { test as base, believing, scoreRecord, scoresReading, settle } from '../../../support/test-warehouse.ts'

type Read = { readonly profileId: string; readonly hoursAgo: number; readonly values: Readonly<Record<number, number>> }

type Fixtures = {
  /** Stores a reading of the last 20 days, sent the given hours ago, with a score of the given days ago for each value. */
  read: (read: Read) => Promise<void>
  /** Writes down the counts of all readings so far. */
  measure: () => Promise<void>
}

const test = base.extend<Fixtures>({
  read: async ({ warehouse, measure }, use) => {
    void measure
    const { startedAtMs } = warehouse
    await use(async ({ profileId, hoursAgo, values }) => {
      const sentAtMs = startedAtMs - hoursAgo * HOUR
      const records = Object.entries(values).map(([daysAgo, value]) =>
        scoreRecord({ scoreDateTime: new Date(startedAtMs - Number(daysAgo) * DAY).toISOString(), value }),
      )
      const window = { startMs: startedAtMs - 20 * DAY, endMs: sentAtMs }
      const now = () => sentAtMs
      const { pool } = warehouse
      const writer = openReadingWriter({
        pool,
        now,
        rowsPerCommit: 1,
        commitsAtOnce: 1,
        belief: believing,
        settle,
        account: 'test',
      })
      await writer.store(scoresReading({ profileId, sentAtMs, window, records }))
      await writer.close()
    })
  },
  measure: async ({ warehouse }, use) => {
    await use(async () => {
      await warehouse.rows('delete from vitalsync.settle_times')
      await computeSettleTimes({ pool: warehouse.pool, account: 'test', settle }, [scores])
    })
  },
})

const counted = `select bin, seen::int, came::int, changed::int from vitalsync.lateness where came + changed > 0 order by bin`

test('a change is counted at the age of the reading that found it', async ({ warehouse, read }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await read({ profileId: ada, hoursAgo: 20, values: { 1: 0.1, 2: 0.2 } })
  await read({ profileId: ada, hoursAgo: 2, values: { 1: 0.1, 1.5: 0.3, 2: 0.9 } })

  expect(await warehouse.rows(counted)).toEqual([
    { bin: latenessBin(34 * HOUR), seen: 2, came: 1, changed: 0 },
    { bin: latenessBin(46 * HOUR), seen: 1, came: 0, changed: 1 },
  ])
  expect(
    await warehouse.rows('select kind, found::int, median is null as none from warehouse.lateness order by 1'),
  ).toEqual([
    { kind: 'came', found: 1, none: false },
    { kind: 'changed', found: 1, none: false },
  ])
})

test('a change of a covered day is a silent difference, and un-settles the week around it until two readings agree', async ({
  warehouse,
  read,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { rows, startedAtMs } = warehouse
  const isCovered = async (daysAgo: number) => {
    const [row] = await rows(
      `select covered @> to_timestamp($1::float8 / 1000) as is from vitalsync.ledger where stream = 'scores'`,
      [startedAtMs - daysAgo * DAY],
    )
    return row?.['is']
  }
  await read({ profileId: ada, hoursAgo: 20, values: { 10: 0.1, 12: 0.2 } })
  expect([await isCovered(10), await isCovered(16), await isCovered(18)]).toEqual([true, true, true])

  await read({ profileId: ada, hoursAgo: 19, values: { 10: 0.5, 12: 0.2 } })

  expect([await isCovered(10), await isCovered(16), await isCovered(18)]).toEqual([false, false, true])
  expect(
    await rows('select stream, records, round(late_ms / 3600000)::int as hours from vitalsync.silent_differences'),
  ).toEqual([{ stream: 'scores', records: 1, hours: 221 }])

  await read({ profileId: ada, hoursAgo: 10, values: { 10: 0.5, 12: 0.2 } })
  expect(await isCovered(10)).toBe(false)
  await read({ profileId: ada, hoursAgo: 1, values: { 10: 0.5, 12: 0.2 } })
  expect([await isCovered(10), await isCovered(16)]).toEqual([true, true])
  expect(await rows('select records from vitalsync.silent_differences')).toHaveLength(1)
})

test('silent differences of three profiles un-settle the recent days of all, once a day', async ({
  warehouse,
  read,
  measure,
}) => {
  const people = await warehouse.addProfiles('ada', 'bob', 'cyd', 'dee')
  for (const profileId of people) await read({ profileId, hoursAgo: 20, values: { 5: 0.1, 12: 0.2 } })
  const coveredOf = async (profileId: string | undefined) => {
    const [row] = await warehouse.rows(
      `select covered @> $2::timestamptz as recent, covered @> $3::timestamptz as old, jsonb_array_length(rereads) as rereads
       from vitalsync.ledger where profile_id = $1 and stream = 'scores'`,
      [profileId, new Date(warehouse.startedAtMs - 5 * DAY), new Date(warehouse.startedAtMs - 12 * DAY)],
    )
    return row
  }
  const dee = people[3]

  for (const profileId of people.slice(0, 2)) await read({ profileId, hoursAgo: 1, values: { 5: 0.4, 12: 0.2 } })
  await measure()
  expect(await coveredOf(dee)).toEqual({ recent: true, old: true, rereads: 0 })

  for (const profileId of people.slice(2, 3)) await read({ profileId, hoursAgo: 1, values: { 5: 0.4, 12: 0.2 } })
  await measure()
  expect(await coveredOf(dee)).toEqual({ recent: false, old: true, rereads: 1 })
})

test('the settle time that was computed is the one by which readings cover', async ({ warehouse, read }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.rows(
    `insert into vitalsync.settle_times (account, stream, settle_ms, basis, fallback_ms, days, watched, changed_later)
     values ('test', 'scores', $1, 'measured', 0, 30, 0, 0)`,
    [10 * HOUR],
  )
  await read({ profileId: ada, hoursAgo: 5, values: { 3: 0.1 } })

  const [row] = await warehouse.rows(`select upper(covered) as upto from vitalsync.ledger where stream = 'scores'`)
  const upto = Number(new Date(String(row?.['upto'])))
  expect(Math.round((warehouse.startedAtMs - upto) / HOUR)).toBe(15)
})

test('an erased profile leaves no silent difference behind', async ({ warehouse, read }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await read({ profileId: ada, hoursAgo: 20, values: { 10: 0.1 } })
  await read({ profileId: ada, hoursAgo: 19, values: { 10: 0.5 } })
  expect(await warehouse.rows('select 1 from vitalsync.silent_differences')).toHaveLength(1)

  await warehouse.profiles.erase(ada)

  expect(await warehouse.rows('select 1 from vitalsync.silent_differences')).toEqual([])
})

test('counts are written once while settle times cannot be, and the settle times later', async ({ warehouse }) => {
  const { pool, rows } = warehouse
  // As Citus words it for a write that needs all nodes.
  const refused = new Error(
    'connection to the remote node postgres@127.0.0.1:1 failed with the following error: Connection refused',
  )
  let isAway = true
  let refusals = 0
  const query = (...asked: Parameters<typeof pool.query>) => {
    if (!isAway || !String(asked[0]).includes('insert into vitalsync.settle_times')) return pool.query(...asked)
    refusals += 1
    return Promise.reject(Object.assign(refused, { code: '08006' }))
  }
  const meter = openLatenessMeter({ pool: Object.assign(Object.create(pool), { query }), account: 'test', settle })
  const count = async () => {
    const counts = noLatenessCounts()
    counts.seen[3] = 5
    meter.add(new Map([[scores, counts]]))
    await meter.close() // writes down, and leaves the meter open
  }

  await count()
  await count()
  expect(refusals).toBe(2)
  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 10 }])
  expect(await rows('select * from vitalsync.settle_times')).toEqual([])
  isAway = false
  await meter.close()

  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 10 }])
  expect(await rows('select stream from vitalsync.settle_times')).toEqual([{ stream: 'scores' }])
})
