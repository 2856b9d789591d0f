import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import { nextReadingAtMs } from '../../../../src/pipeline/ledger/awaiting-upstream.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import {
  connect,
  dueInMinutes,
  endedJob,
  march,
  marchMs,
  scoreRecord,
  scoresReading,
  settle,
  test,
  wantedFromMs,
} from '../../../support/test-warehouse.ts'

test('a refused window is left alone for a while, longer each time, and blocks nothing else', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, rows, startedAtMs } = warehouse
  const range = { startMs: startedAtMs - 90 * DAY, endMs: startedAtMs }
  const planned = async (stream: string) =>
    (await ledger.plan({ profileId: ada, nowMs: startedAtMs, streams: [stream], range }))?.due.map(
      (dueWindow) => dueWindow.window,
    ) ?? []
  const [newest, ...others] = await planned('scores')
  if (!newest) throw new Error('a window is due')
  const refusal = { profileId: ada, stream: 'scores', window: newest, status: 400, reason: 'no' }

  await ledger.recordRefusal(refusal)
  expect(await planned('scores')).toEqual(others)
  expect((await planned('trends')).length).toBeGreaterThan(0)

  // A day later the window has shifted: the refusal is the same.
  await ledger.recordRefusal({ ...refusal, window: { startMs: newest.startMs + DAY, endMs: newest.endMs + DAY } })
  const kept = 'select attempts, extract(epoch from next_try_at - last_at)::int / 60 as minutes from vitalsync.refusals'
  expect(await rows(kept)).toEqual([{ attempts: 2, minutes: 30 }])
  for (let times = 0; times < 20; times += 1) await ledger.recordRefusal(refusal)
  expect(await rows(kept)).toEqual([{ attempts: 22, minutes: 7 * 24 * 60 }])
})

test('a refusal that joins several takes the most attempts and the first instant of them, and none is kept of the erased', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada', 'bob')
  const { ledger, rows, startedAtMs } = warehouse
  const refuse = (from: number, to: number) => {
    const window = { startMs: startedAtMs - from * DAY, endMs: startedAtMs - to * DAY }
    return ledger.recordRefusal({ profileId: ada, stream: 'scores', window, status: 400, reason: 'no' })
  }
  await refuse(90, 60)
  await rows(`update vitalsync.refusals set first_at = '2026-03-02'`)
  for (let times = 0; times < 3; times += 1) await refuse(60, 30)
  await refuse(30, 10)
  await refuse(80, 20)

  expect(await rows('select attempts, first_at from vitalsync.refusals')).toEqual([
    { attempts: 4, first_at: new Date('2026-03-02') },
  ])
  await warehouse.profiles.erase(ada)
  await refuse(80, 20)
  expect(await rows('select 1 from vitalsync.refusals')).toEqual([])
})

test('refusals of one person take turns, and wait for no other person', async ({ warehouse, warehouseUrl }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { ledger, rows } = warehouse
  const refuse = (profileId: string) =>
    ledger.recordRefusal({ profileId, stream: 'scores', window: { startMs: 0, endMs: 1 }, status: 400, reason: 'no' })
  const other = await connect(warehouseUrl)
  await other.query('begin')
  await other.query('select from vitalsync.profiles where id = $1 for no key update', [ada])

  await refuse(bob)
  const ended: string[] = []
  const refusing = refuse(ada).then(() => ended.push('recorded'))
  await expect.poll(async () => ended.length + (await countLockWaiters(rows)), soon).toBe(1)
  expect(ended).toEqual([])
  await other.query('commit')
  await refusing

  expect(await rows('select profile_id from vitalsync.refusals order by 1')).toEqual([
    { profile_id: ada },
    { profile_id: bob },
  ])
  await other.end()
})

test('a plan reaches two days ahead, or to the end of its range; a snapshot never beyond the present', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, writer, startedAtMs: sentAtMs } = warehouse
  const nowMs = marchMs(20, '10:00:00Z')
  const planned = async (more: object = {}) => {
    const plan = await ledger.plan({ profileId: ada, nowMs, streams: ['scores', 'demographics'], ...more })
    return Map.groupBy(plan?.due ?? [], ({ stream }) => stream.name)
  }
  const ends = async (more?: object) =>
    [...(await planned(more))].map(([name, due]) => [name, Math.max(...due.map(({ window }) => window.endMs))])
  const range = { startMs: marchMs(1), endMs: marchMs(18, '05:00:00Z') }

  expect(await ends()).toEqual([
    ['scores', nowMs + 2 * DAY],
    ['demographics', nowMs],
  ])
  await writer.store(scoresReading({ profileId: ada, sentAtMs, records: [], tag: '"a"' }))
  expect(await ends()).toEqual([
    ['scores', marchMs(27)], // so that the next nights ask for the same window
    ['demographics', nowMs],
  ])
  expect(await ends({ range })).toEqual([
    ['scores', range.endMs],
    ['demographics', range.endMs],
  ])
  const scoresDue = (await planned()).get('scores')
  const window = { startMs: marchMs(9), endMs: marchMs(12) }
  await writer.store(
    scoresReading({ profileId: ada, stream: streamByName('trends'), window, sentAtMs, records: [], tag: '"b"' }),
  )
  expect((await planned()).get('scores')).toEqual(scoresDue)
})

test('a plan just after a push leaves out what it touched, and what is refused as well', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, rows, startedAtMs: nowMs } = warehouse
  const range = { startMs: marchMs(1), endMs: marchMs(20) }
  await rows(`update vitalsync.ledger set digesting = '{["2026-03-05Z","2026-03-08Z")}', touched_at = statement_timestamp(),
    read_at = statement_timestamp()`)
  const window = { startMs: marchMs(12), endMs: marchMs(15) }
  await ledger.recordRefusal({ profileId: ada, stream: 'scores', window, status: 400, reason: 'no' })

  const plan = await ledger.plan({ profileId: ada, nowMs, streams: ['scores'], range })

  expect(plan?.due.map((due) => due.window)).toEqual([
    { startMs: marchMs(15), endMs: range.endMs },
    { startMs: marchMs(8), endMs: marchMs(12) },
    { startMs: range.startMs, endMs: marchMs(5) },
  ])
})

test('a reading of a refused span ends the refusal, also when windows have shifted since', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, writer, rows, startedAtMs } = warehouse
  const window = { startMs: startedAtMs - 20 * DAY, endMs: startedAtMs - 10 * DAY }
  const refusal = { profileId: ada, stream: 'scores', window, status: 400, reason: 'no' }
  const read = (from: number, to: number) =>
    writer.store(
      scoresReading({
        profileId: ada,
        sentAtMs: startedAtMs,
        window: { startMs: startedAtMs - from * DAY, endMs: startedAtMs - to * DAY },
        records: [],
      }),
    )
  const left = () => rows('select 1 from vitalsync.refusals')

  await ledger.recordRefusal(refusal)
  await read(15, 5)
  expect(await left()).toHaveLength(1)
  await read(20, 10)
  expect(await left()).toHaveLength(0)

  await ledger.recordRefusal(refusal)
  await rows('update vitalsync.refusals set next_try_at = statement_timestamp()')
  await read(15, 5)
  expect(await left()).toHaveLength(0)
})

test('a profile whose app pushes without end is read all the same', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, rows, startedAtMs } = warehouse
  await rows(`update vitalsync.ledger set digesting = '{(,)}', touched_at = statement_timestamp()`)
  const due = async () => (await ledger.plan({ profileId: ada, nowMs: startedAtMs, streams: ['scores'] }))?.due.length

  await rows(`update vitalsync.ledger set read_at = statement_timestamp() - interval '1 hour'`)
  expect(await due()).toBe(0)
  await rows(`update vitalsync.ledger set read_at = statement_timestamp() - interval '7 hours'`)
  expect(await due()).toBeGreaterThan(0)
})

test('the unsettled tail is due again, and nothing before it', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, writer, rows, startedAtMs } = warehouse
  // Another account and another stream have settle times of their own.
  await rows(
    `insert into vitalsync.settle_times (account, stream, settle_ms, basis, fallback_ms, days, watched, changed_later)
     select account, stream, $1, 'measured', 1, 9, 9, 9 from (values ('other', 'scores'), ('test', 'trends')) as t(account, stream)`,
    [9 * DAY],
  )
  const range = { startMs: startedAtMs - 20 * DAY, endMs: startedAtMs }
  const plan = async (nowMs: number) =>
    (await ledger.plan({ profileId: ada, nowMs, streams: ['scores'], range: { ...range, endMs: nowMs } }))?.due ?? []
  const [whole] = await plan(startedAtMs)
  if (!whole) throw new Error('a window is due')
  const records = [scoreRecord({ scoreDateTime: march(2) })]
  await writer.store(scoresReading({ profileId: ada, window: whole.window, sentAtMs: startedAtMs, records }))

  const later = startedAtMs + 10 * MINUTE

  expect((await plan(later)).map((dueWindow) => dueWindow.window)).toEqual([
    { startMs: startedAtMs - 72 * HOUR, endMs: later },
  ])
})

test('the readings since a push are remembered, and a profile is due when the next reading counts', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, outbox, writer, rows, startedAtMs } = warehouse
  const day = startedAtMs - 10 * DAY
  const window = { startMs: day - 5 * DAY, endMs: day + 5 * DAY }
  await outbox.add([{ profileId: ada, stream: 'tags', itemKey: 'a', body: '{}', startAtMs: day, endAtMs: day + HOUR }])
  const { parcels } = await outbox.readWaiting(ada, 'tags')
  await outbox.markSent({ profileId: ada, stream: 'tags', parcels })
  const touched = async (ago: string) => {
    await rows(`update vitalsync.ledger set touched_at = statement_timestamp() - $1::interval where stream = 'tags'`, [
      ago,
    ])
  }
  const read = (sentAtMs: number) =>
    writer.store(
      scoresReading({ profileId: ada, stream: streamByName('tags'), window, generation: 1, sentAtMs, records: [] }),
    )
  const state = async () => {
    await ledger.recordFinished(endedJob(ada))
    const [row] = await rows(
      `select digesting::text, jsonb_array_length(rereads) as rereads, rereads -> 0 -> 4 as readings,
         covered @> to_timestamp($1::float8 / 1000) as covered from vitalsync.ledger where stream = 'tags'`,
      [day],
    )
    return { ...row, dueInMinutes: await dueInMinutes(warehouse, ada) }
  }
  const unread = { rereads: 0, readings: null, covered: false }

  await touched('59 minutes')
  await read(Date.now())
  expect(await state()).toMatchObject({ ...unread, dueInMinutes: 1 })

  await touched('100 hours')
  await read(Date.now())
  expect(await state()).toEqual({ digesting: '{}', rereads: 1, readings: 1, covered: false, dueInMinutes: 375 })

  await rows(
    `update vitalsync.ledger set rereads = jsonb_set(rereads, '{0,3}', to_jsonb($1::float8))
    where stream = 'tags'`,
    [Date.now() - 4 * HOUR],
  )
  await read(Date.now())
  expect(await state()).toEqual({ digesting: '{}', ...unread, covered: true, dueInMinutes: 26 * 60 })
})

test('of several spans that are read again, the one whose next reading counts first decides when that is', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const part = (day: number, touchedHours: number, readHours: number, readings: number) => ({
    ...{ startMs: marchMs(day), endMs: marchMs(day + 1), readings },
    ...{ touchedAtMs: sentAtMs - touchedHours * HOUR, readAtMs: sentAtMs - readHours * HOUR },
  })
  const parts = [part(10, 2, 0.5, 1), part(12, 50, 2, 2)]
  const stored = parts.map((one) => [one.startMs, one.endMs, one.touchedAtMs, one.readAtMs, one.readings])
  await rows(`update vitalsync.ledger set rereads = $1 where stream = 'scores'`, [JSON.stringify(stored)])

  await writer.store(scoresReading({ profileId: ada, sentAtMs, records: [] }))

  const nextMs = parts.map((one) => nextReadingAtMs(one, { settleMs: 72 * HOUR, intervalsMs: settle.intervalsMs }))
  expect(Math.min(...nextMs)).toBeLessThan(Math.max(...nextMs))
  expect(await rows(`select digested_at from vitalsync.ledger where stream = 'scores'`)).toEqual([
    { digested_at: new Date(Math.ceil(Math.min(...nextMs))) },
  ])
})

test('spans that a job left out because the push was recent are read again, though its last reading went out later', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, outbox, writer, rows, startedAtMs } = warehouse
  const day = startedAtMs - 10 * DAY
  await outbox.add([{ profileId: ada, stream: 'tags', itemKey: 'a', body: '{}', startAtMs: day, endAtMs: day + HOUR }])
  const { parcels } = await outbox.readWaiting(ada, 'tags')
  await outbox.markSent({ profileId: ada, stream: 'tags', parcels })
  const nowMs = Date.now()
  const plan = await ledger.plan({ profileId: ada, nowMs, streams: ['tags'] })
  const due = plan?.due ?? []
  expect(due.length).toBeGreaterThan(0)
  expect(due.filter(({ window }) => window.startMs <= day && day < window.endMs)).toEqual([])

  // The push was an hour ago when the requests went out.
  await rows(`update vitalsync.ledger set touched_at = statement_timestamp() - interval '61 minutes', digested_at =
    statement_timestamp() - interval '1 minute' where stream = 'tags'`)
  for (const dueWindow of due) {
    await writer.store(scoresReading({ profileId: ada, ...dueWindow, sentAtMs: Date.now(), records: [] }))
  }
  await ledger.recordFinished(endedJob(ada))
  expect(await dueInMinutes(warehouse, ada)).toBe(60)

  // A refusal has its own time, and what is not wanted is not looked at.
  const refused = { startMs: day - HOUR, endMs: day + 2 * HOUR }
  await ledger.recordRefusal({ profileId: ada, stream: 'tags', window: refused, status: 400, reason: 'no' })
  await ledger.recordFinished(endedJob(ada))
  expect(await dueInMinutes(warehouse, ada)).toBe(15)
  await rows('delete from vitalsync.refusals')
  await rows(`update vitalsync.profiles set wanted_from = statement_timestamp() - interval '1 day'`)
  await ledger.recordFinished(endedJob(ada))
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
})

test('one reading of a snapshot answers for every hole in its coverage', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, writer, startedAtMs } = warehouse
  const range = { startMs: startedAtMs - 20 * DAY, endMs: startedAtMs - 10 * DAY }
  const read = async (request: { range?: typeof range; nowMs: number }) => {
    const plan = await ledger.plan({ profileId: ada, streams: ['demographics'], ...request })
    for (const due of plan?.due ?? []) {
      await writer.store({ ...scoresReading({ profileId: ada, sentAtMs: request.nowMs, records: [] }), ...due })
    }
  }

  // A backfill came first, so that spans before it and after it are due.
  await read({ range, nowMs: startedAtMs - 3 * MINUTE })
  await read({ nowMs: startedAtMs - 2 * MINUTE })

  const gapsUpTo = (endMs: number) =>
    ledger.plan({ profileId: ada, streams: ['demographics'], nowMs: endMs, range: { startMs: wantedFromMs, endMs } })
  expect((await gapsUpTo(startedAtMs - 2 * MINUTE))?.due).toEqual([])
})
