import { expect, vi } from 'vitest'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { latenessBin, noLatenessCounts } from '../../../../src/pipeline/ledger/lateness.ts'
import { refreshSettleTimes } from '../../../../src/pipeline/warehouse/ledger/settle-times.ts'
import type { Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { openLatenessMeter } from '../../../../src/pipeline/warehouse/readings/lateness-meter.ts'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { scores } from '../../../support/stream-by-name.ts'
import {
  test as base,
  believing,
  scoreRecord,
  scoresReading,
  settle,
  type Warehouse,
} from '../../../support/test-warehouse.ts'

type Read = { readonly profileId: string; readonly hoursAgo: number; readonly values: Readonly<Record<number, number>> }

type Fixtures = {
  /** Stores a reading of the last 20 days, sent the given hours ago, with a score of the given days ago for each value. */
  read: (read: Read) => Promise<void>
  /** Computes the settle times by the counts of all readings so far. Its process dies at the first statement that holds `diesAt`. */
  measure: (diesAt?: string) => Promise<void>
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
    await use(async (diesAt) => {
      await warehouse.rows(`update vitalsync.settle_times set computed_at = '-infinity'`)
      const pool = diesAt === undefined ? warehouse.pool : dyingAt(warehouse.pool, diesAt)
      await refreshSettleTimes({ pool, account: 'test', settle, streams: [scores] })
    })
  },
})

/** The pool of a process that dies at the first statement that holds `text`: the statement and all after it reach nobody. */
function dyingAt(pool: Pool, text: string): Pool {
  let isDead = false
  const query = (...asked: Parameters<Pool['query']>) => {
    isDead ||= String(Object(asked[0]).text ?? asked[0]).includes(text)
    return isDead ? Promise.reject(new Error(`the process died at: ${text}`)) : pool.query(...asked)
  }
  return Object.assign(Object.create(pool), { query })
}

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

const people = ['ada', 'bob', 'cyd', 'dee']

/** Dee's ledger after days of the other three were found changed: `recent` is five days ago, `old` twelve. */
async function coveredOfDee(warehouse: Warehouse) {
  const [row] = await warehouse.rows(
    `select l.covered @> $1::timestamptz as recent, l.covered @> $2::timestamptz as old, jsonb_array_length(l.rereads) as rereads
     from vitalsync.ledger l join vitalsync.names n on n.id = l.profile_id where n.external_id = 'dee' and l.stream = 'scores'`,
    [new Date(warehouse.startedAtMs - 5 * DAY), new Date(warehouse.startedAtMs - 12 * DAY)],
  )
  return row
}

test('silent differences of three profiles un-settle the recent days of all, once a day', async ({
  warehouse,
  read,
  measure,
}) => {
  const ids = await warehouse.addProfiles(...people)
  for (const profileId of ids) await read({ profileId, hoursAgo: 20, values: { 5: 0.1, 12: 0.2 } })

  for (const profileId of ids.slice(0, 2)) await read({ profileId, hoursAgo: 1, values: { 5: 0.4, 12: 0.2 } })
  await measure()
  expect(await coveredOfDee(warehouse)).toEqual({ recent: true, old: true, rereads: 0 })

  for (const profileId of ids.slice(2, 3)) await read({ profileId, hoursAgo: 1, values: { 5: 0.4, 12: 0.2 } })
  await measure()
  expect(await coveredOfDee(warehouse)).toEqual({ recent: false, old: true, rereads: 1 })
  await warehouse.rows(`update vitalsync.ledger set covered = '{(,)}' where stream = 'scores'`)
  await measure()
  expect(await coveredOfDee(warehouse)).toEqual({ recent: true, old: true, rereads: 1 })
})

test.for([
  // Before it is stored that the stream is taken, other processes would do the same.
  ['stored the settle time', 'insert into vitalsync.settle_times', 0],
  ['took its first page of profiles', 'select profile_id as id from vitalsync.ledger', 0],
  ['un-settled anybody', 'update vitalsync.ledger', 0],
  ['noted that all are un-settled', 'set unsettled_at', 1],
] as const)(
  'a process that dies before it %s leaves the rest to the next one',
  async ([, statement, rereads], { warehouse, read, measure }) => {
    const ids = await warehouse.addProfiles(...people)
    for (const profileId of ids) await read({ profileId, hoursAgo: 20, values: { 5: 0.1, 12: 0.2 } })
    for (const profileId of ids.slice(0, 3)) await read({ profileId, hoursAgo: 1, values: { 5: 0.4, 12: 0.2 } })

    await expect(measure(statement)).rejects.toThrow(`died at: ${statement}`)
    expect(await coveredOfDee(warehouse)).toMatchObject({ rereads })
    await measure()

    expect(await coveredOfDee(warehouse)).toEqual({ recent: false, old: true, rereads: 1 })
  },
)

test('counts of more than 60 days ago do not count before they are deleted', async ({ warehouse, measure }) => {
  const count = (daysAgo: number) =>
    warehouse.rows(
      `insert into vitalsync.lateness (account, stream, observed_on, bin, seen, came, changed)
       values ('test', 'scores', (now() at time zone 'UTC')::date - $1::int, 3, 1, 0, 0)`,
      [daysAgo],
    )
  for (const daysAgo of [61, 60, 1]) await count(daysAgo)

  await measure()

  expect(await warehouse.rows('select days from vitalsync.settle_times')).toEqual([{ days: 2 }])
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

test('counts are written once, and settle times follow when they can be stored', async ({ warehouse, measure }) => {
  const { pool, rows } = warehouse
  const meter = openLatenessMeter({ pool, account: 'test' })
  for (let times = 0; times < 2; times += 1) {
    const counts = noLatenessCounts()
    counts.seen[3] = 5
    meter.add(new Map([[scores, counts]]))
    await meter.close() // writes down, and leaves the meter open
  }
  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 10 }])

  await expect(measure('insert into vitalsync.settle_times')).rejects.toThrow('died')
  expect(await rows('select * from vitalsync.settle_times')).toEqual([])
  await measure()
  expect(await rows('select stream from vitalsync.settle_times')).toEqual([{ stream: 'scores' }])
  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 10 }])
})

test('counts that cannot be written down are written with the next ones', async ({ warehouse }) => {
  const { pool, rows } = warehouse
  let isAway = true
  const query = (...asked: Parameters<Pool['query']>) =>
    isAway ? Promise.reject(new Error('the database is away')) : pool.query(...asked)
  const meter = openLatenessMeter({ pool: Object.assign(Object.create(pool), { query }), account: 'test' })
  for (const seen of [5, 7]) {
    const counts = noLatenessCounts()
    counts.seen[3] = seen
    meter.add(new Map([[scores, counts]]))
    await meter.close()
    isAway = false
  }
  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 12 }])
})

test('counts are written every five seconds, one write after another, and a meter closes after the last of them', async ({
  warehouse,
  onTestFinished,
}) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { pool, rows } = warehouse
  const writes: Array<() => void> = []
  const query = async (...asked: Parameters<Pool['query']>) => {
    await new Promise<void>((resolve) => writes.push(resolve))
    return pool.query(...asked)
  }
  const meter = openLatenessMeter({ pool: Object.assign(Object.create(pool), { query }), account: 'test' })
  const count = () => {
    const counts = noLatenessCounts()
    counts.seen[3] = 1
    meter.add(new Map([[scores, counts]]))
  }
  const turns = async () => {
    for (let turn = 0; turn < 5; turn += 1) await rows('select 1')
  }
  for (let times = 0; times < 3; times += 1) {
    count()
    vi.advanceTimersByTime(5000)
    await turns()
  }
  expect(writes).toHaveLength(1)
  writes[0]?.()
  for (const untilMs = performance.now() + 5000; writes.length === 1 && performance.now() < untilMs; ) await turns()
  expect(writes).toHaveLength(2)
  let isClosed = false
  const closing = meter.close().then(() => {
    isClosed = true
  })
  await turns()
  expect(isClosed).toBe(false)
  writes[1]?.()
  await closing
  expect(await rows('select bin, seen::int from vitalsync.lateness')).toEqual([{ bin: 3, seen: 3 }])
})
