import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../src/window.ts'
import { streamOf } from '../support/streams.ts'
import { endedJob, march, reading, score, test, type Warehouse } from '../support/warehouse.ts'

const dueInMinutes = async ({ rows }: Warehouse, profileId: string) => {
  const [row] = await rows(
    'select extract(epoch from due_at - clock_timestamp())::float8 / 60 as minutes from vitalsync.profiles where id = $1',
    [profileId],
  )
  return Math.round(Number(row?.['minutes']))
}

test('a refused window is left alone for a while, longer each time, and blocks nothing else', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, rows, startedAtMs } = warehouse
  const range = { from: startedAtMs - 90 * DAY, to: startedAtMs }
  const planned = async (stream: string) =>
    (await ledger.plan({ profileId: ada, nowMs: startedAtMs, streams: [stream], range }))?.due.map(
      (one) => one.window,
    ) ?? []
  const [newest, ...others] = await planned('scores')
  if (!newest) throw new Error('a window is due')
  const refusal = { profileId: ada, stream: 'scores', window: newest, status: 400, reason: 'no' }

  await ledger.refuse(refusal)
  expect(await planned('scores')).toEqual(others)
  expect((await planned('trends')).length).toBeGreaterThan(0)

  // A day later the window has shifted: it is the same trouble.
  await ledger.refuse({ ...refusal, window: { from: newest.from + DAY, to: newest.to + DAY } })
  const kept = 'select attempts, extract(epoch from next_try_at - last_at)::int / 60 as minutes from vitalsync.refusals'
  expect(await rows(kept)).toEqual([{ attempts: 2, minutes: 30 }])
  for (let times = 0; times < 20; times += 1) await ledger.refuse(refusal)
  expect(await rows(kept)).toEqual([{ attempts: 22, minutes: 7 * 24 * 60 }])
})

test('a reading of a refused span ends the refusal, also when windows have shifted since', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, writer, rows, startedAtMs } = warehouse
  const window = { from: startedAtMs - 20 * DAY, to: startedAtMs - 10 * DAY }
  const refusal = { profileId: ada, stream: 'scores', window, status: 400, reason: 'no' }
  const read = (from: number, to: number) =>
    writer.store(
      reading({
        profileId: ada,
        sentAtMs: startedAtMs,
        window: { from: startedAtMs - from * DAY, to: startedAtMs - to * DAY },
        records: [],
      }),
    )
  const left = () => rows('select 1 from vitalsync.refusals')

  await ledger.refuse(refusal)
  await read(15, 5)
  expect(await left()).toHaveLength(1)
  await read(20, 10)
  expect(await left()).toHaveLength(0)

  await ledger.refuse(refusal)
  await rows('update vitalsync.refusals set next_try_at = clock_timestamp()')
  await read(15, 5)
  expect(await left()).toHaveLength(0)
})

test('whoever is done is due after the next nightly, or when something of theirs falls due', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, outbox, writer, rows } = warehouse
  const finish = () => ledger.finish(endedJob(ada))

  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)

  const window = { from: 0, to: 1 }
  await ledger.refuse({ profileId: ada, stream: 'scores', window, status: 400, reason: 'no' })
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(15)
  await rows(`update vitalsync.refusals set next_try_at = clock_timestamp() - interval '1 day'`)
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)

  const item = { profileId: ada, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 } as const
  await outbox.add([item])
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(5)
  const { parcels } = await outbox.waiting(ada, 'data-logs')
  await outbox.sent({ profileId: ada, stream: 'data-logs', parcels })
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(60)

  // Read after it was digested, nobody is due for it again, however far it reaches into the future.
  await rows(`update vitalsync.ledger set digested_at = clock_timestamp() - interval '1 minute'`)
  for (const name of ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const) {
    const stream = streamOf(name)
    await writer.store(reading({ profileId: ada, stream, generation: 1, sentAtMs: Date.now(), records: [] }))
  }
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
})

test('a failure is kept with its reason until the next success, and the sweep waits longer each time', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, rows, profiles } = warehouse
  const scope = '[["from",1]]'
  const fail = () => ledger.fail(endedJob(ada, { scope }), { reason: 'not known upstream', hint: 'erase it' })

  expect((await profiles.dueNow('0', 10)).ids).toEqual([ada])
  await fail()
  expect((await profiles.dueNow('0', 10)).ids).toEqual([])
  expect(await dueInMinutes(warehouse, ada)).toBe(15)
  for (let times = 0; times < 10; times += 1) await fail()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
  expect(await rows('select reason, hint, attempts, scope from vitalsync.failures')).toEqual([
    { reason: 'not known upstream', hint: 'erase it', attempts: 11, scope },
  ])

  await ledger.finish(endedJob(ada))
  expect(await rows('select 1 from vitalsync.failures')).toEqual([])
})

test('who pushes without end is read all the same', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, rows, startedAtMs } = warehouse
  await rows(`update vitalsync.ledger set digesting = '{(,)}', digested_at = clock_timestamp() + interval '1 hour'`)
  const due = async () => (await ledger.plan({ profileId: ada, nowMs: startedAtMs, streams: ['scores'] }))?.due.length

  await rows(`update vitalsync.ledger set read_at = clock_timestamp() - interval '1 hour'`)
  expect(await due()).toBe(0)
  await rows(`update vitalsync.ledger set read_at = clock_timestamp() - interval '7 hours'`)
  expect(await due()).toBeGreaterThan(0)
})

test('the unsettled tail is due again, and nothing before it', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.people('ada')
  const { ledger, writer, startedAtMs } = warehouse
  const range = { from: startedAtMs - 20 * DAY, to: startedAtMs }
  const plan = async (nowMs: number) =>
    (await ledger.plan({ profileId: ada, nowMs, streams: ['scores'], range: { ...range, to: nowMs } }))?.due ?? []
  const [whole] = await plan(startedAtMs)
  if (!whole) throw new Error('a window is due')
  const records = [score({ scoreDateTime: march(2) })]
  await writer.store(reading({ profileId: ada, window: whole.window, sentAtMs: startedAtMs, records }))

  const later = startedAtMs + 10 * MINUTE

  expect((await plan(later)).map((one) => one.window)).toEqual([{ from: startedAtMs - 72 * HOUR, to: later }])
})
