import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { soon } from '../../../support/fixtures.ts'
import { countDeadlocks, countLockWaiters } from '../../../support/lock-waiters.ts'
import { scores, streamByName } from '../../../support/stream-by-name.ts'
import { testDivision } from '../../../support/test-pool.ts'
import {
  connect,
  dueInMinutes,
  endedJob,
  march,
  openTestWriter,
  scoreRecord,
  scoresReading,
  test,
  type Warehouse,
} from '../../../support/test-warehouse.ts'

const trends = streamByName('trends')
const tables = ['ledger', 'refusals', 'reading_tags', 'scores', 'trends', 'history']

/** Every row of a profile in these tables, of a stream where the table has streams. */
async function rowsOf({ rows }: Warehouse, profileId: string, stream?: string): Promise<string[]> {
  const found = await Promise.all(
    tables.map((table) =>
      rows(
        `select '${table} ' || to_jsonb(t)::text as row from vitalsync.${table} t
         where profile_id = $1 and ($2::text is null or coalesce(to_jsonb(t) ->> 'stream', '${table}') = $2) order by 1`,
        [profileId, stream ?? null],
      ),
    ),
  )
  return found.flat().map(({ row }) => String(row))
}

test('readings and refusals of one stream of a profile change nothing of another stream or profile', async ({
  warehouse,
}) => {
  const { ledger, writer, rows, startedAtMs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const day = (ago: number) => startedAtMs - ago * DAY
  const windows = [
    { startMs: day(30), endMs: day(20) },
    { startMs: day(60), endMs: day(50) },
  ]
  const [window = { startMs: 0, endMs: 1 }, another = window] = windows
  const store = (profileId: string, stream: typeof scores, moment: number) =>
    writer.store(scoresReading({ profileId, stream, window, tag: '"1"', sentAtMs: startedAtMs + moment, records: [] }))
  const refuse = (profileId: string, stream: string, refused = window) =>
    ledger.recordRefusal({ profileId, stream, window: refused, status: 400, reason: 'no' })
  for (const profileId of [ada, bob])
    for (const stream of [scores, trends]) {
      await store(profileId, stream, 0)
      for (const refused of [window, another]) await refuse(profileId, stream.name, refused)
    }
  // All are due for another try.
  await rows(`update vitalsync.refusals set next_try_at = now() - interval '1 minute'`)
  const others = async () => [await rowsOf(warehouse, ada, 'trends'), await rowsOf(warehouse, bob)]
  const before = await others()
  expect(before.map(({ length }) => length)).toEqual([4, 15])

  await rows(`update vitalsync.refusals set first_at = '2026-03-01' where profile_id = $1 and stream = 'scores'`, [ada])
  await refuse(ada, 'scores')
  expect(await others()).toEqual(before)
  // The refusal of another span stays, and the first one is remembered.
  expect(
    await rows(
      `select attempts, first_at from vitalsync.refusals where profile_id = $1 and stream = 'scores' order by attempts`,
      [ada],
    ),
  ).toEqual([1, 2].map((attempts) => ({ attempts, first_at: new Date(`${march(1)}`) })))

  await Promise.all([store(ada, scores, 1), store(ada, scores, 2)])
  expect(await others()).toEqual(before)
  expect(await rows(`select from vitalsync.refusals where profile_id = $1 and stream = 'scores'`, [ada])).toHaveLength(
    1,
  )
})

test('a profile is planned by its own ledger, refusals, tags and parcels, also beside others', async ({
  warehouse,
}) => {
  const { ledger, writer, outbox, rows, startedAtMs } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addNeighbours(3)
  const streams = ['scores', 'trends']
  const window = { startMs: startedAtMs - 30 * DAY, endMs: startedAtMs - 28 * DAY }
  const planned = async (profileId: string) => {
    const plan = await ledger.plan({ profileId, nowMs: startedAtMs, streams, range: window, again: true })
    return {
      waiting: plan?.profile.waiting.map(({ name }) => name),
      due: plan?.due.map(({ stream, heldTag }) => `${stream.name} ${heldTag}`),
    }
  }
  const before = await planned(ada)
  expect(before).toEqual({ waiting: [], due: ['scores undefined', 'trends undefined'] })
  const records = [scoreRecord({ scoreDateTime: new Date(startedAtMs - 29 * DAY).toISOString() })]
  await writer.store(scoresReading({ profileId: bob, window, tag: '"1"', sentAtMs: startedAtMs, records }))
  await ledger.recordRefusal({ profileId: bob, stream: 'trends', window, status: 400, reason: 'no' })
  await outbox.add([{ profileId: bob, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 }])

  // Those that come while the first is loaded are loaded together.
  const [, adas, bobs] = await Promise.all([eve, ada, bob].map(planned))

  expect(adas).toEqual(before)
  // Its trends are refused.
  expect(bobs).toEqual({ waiting: ['data-logs'], due: ['scores "1"'] })
  // A stream whose tags were found to be false has none for a month.
  const found = (stream: string, daysAgo: number) =>
    rows('insert into vitalsync.false_tags (stream, found_at) values ($1, now() - $2 * interval $$1 day$$)', [
      stream,
      daysAgo,
    ])
  await found('trends', 1)
  await found('scores', 31)
  await writer.store(scoresReading({ profileId: ada, window, tag: '"2"', sentAtMs: startedAtMs, records }))
  expect((await planned(ada)).due).toEqual(['scores "2"', 'trends undefined'])
  expect(await planned(bob)).toEqual(bobs)
  await rows(`update vitalsync.false_tags set found_at = now() - interval '29 days'`)
  expect((await planned(bob)).due).toEqual(['scores undefined'])
})

test('a profile is due again by its own refusals, pushes and items alone', async ({ warehouse }) => {
  const { ledger, outbox, rows } = warehouse
  const [ada = '', bob = '', eve = ''] = await warehouse.addNeighbours(3)
  const window = { startMs: 0, endMs: 1 }
  await ledger.recordRefusal({ profileId: bob, stream: 'scores', window, status: 400, reason: 'no' })
  await outbox.add([{ profileId: eve, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 }])
  await rows(`update vitalsync.parcels set added_at = now() - interval '2 minutes'`)
  for (const profileId of [ada, bob]) await ledger.recordFailed(endedJob(profileId), { reason: 'no', hint: undefined })
  await ledger.recordFailed(endedJob(ada, { job: 'backfill-profile' }), { reason: 'no', hint: undefined })
  const ended = [endedJob(eve), endedJob(ada), endedJob(bob, { job: 'backfill-profile' })]
  await Promise.all(ended.map((job) => ledger.recordFinished(job)))

  const due = [ada, bob, eve].map((profileId) => dueInMinutes(warehouse, profileId))
  expect(await Promise.all(due)).toEqual([26 * 60, 15, 5])
  expect(await rows('select profile_id, job from vitalsync.failures order by profile_id')).toEqual([
    { profile_id: ada, job: 'backfill-profile' },
    { profile_id: bob, job: 'sync-profile' },
  ])
})

test('a reading and a push of the same people do not wait for one another in a circle', async ({
  warehouse,
  warehouseUrl,
}) => {
  const { rows, startedAtMs: sentAtMs } = warehouse
  const people = await warehouse.addNeighbours(3)
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 2,
    name: 'neighbours',
    pipeline: true,
  })
  const outbox = createOutbox({ pool, catalogue, firstReadingMs: HOUR, now: Date.now })
  const writer = openTestWriter(pool)
  const log = { stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 } as const
  await outbox.add(people.map((profileId) => ({ ...log, profileId })))
  const waiting = await Promise.all(people.map((profileId) => outbox.readWaiting(profileId, 'data-logs')))
  const holder = await connect(warehouseUrl)
  await holder.query('begin')
  await holder.query('select from vitalsync.ledger where profile_id = $1 for update', [people[1]])
  const work = [
    ...people.map((profileId) => writer.store(scoresReading({ profileId, sentAtMs, records: [] }))),
    ...people.map((profileId, index) =>
      outbox.markSent({ profileId, stream: 'data-logs', parcels: waiting[index]?.parcels ?? [] }),
    ),
  ]
  await expect.poll(() => countLockWaiters(rows), soon).toBe(2)
  await holder.query('commit')
  await Promise.all(work)
  await writer.close()
  await holder.end()
  await pool.end()

  expect(await countDeadlocks(rows)).toBe(0)
})
