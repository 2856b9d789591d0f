import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { dayNumberFromText, dayText } from '../../../../src/base/time/local-time.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import type { OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { march, marchMs, scoreRecord, scoresReading, test, type Warehouse } from '../../../support/test-warehouse.ts'

const wornAll = { startMs: 6 * HOUR, endMs: 20 * HOUR }

/** Steps that were worn through a day of March, handed in at a time of their own. */
const steps = (profileId: string, day: number, { startMs, endMs } = wornAll): OutboxItem => ({
  ...{ profileId, stream: 'data-logs', itemKey: `steps-${day}`, body: `{"id":"steps-${day}"}` },
  ...{ startAtMs: marchMs(1) + (day - 1) * DAY + startMs, endAtMs: marchMs(1) + (day - 1) * DAY + endMs },
  evidence: { kind: 'steps', offsetMinutes: 0, device: 'watch', isTimed: true },
})

const handIn = ({ pool }: Warehouse, items: readonly OutboxItem[], nowMs = marchMs(20)) =>
  createOutbox({ pool, catalogue, firstReadingMs: 0, now: () => nowMs }).add(items)

/** Everything that waits counts as pushed. */
async function push({ outbox }: Warehouse, profileId: string) {
  const { parcels } = await outbox.readWaiting(profileId, 'data-logs')
  await outbox.markSent({ profileId, stream: 'data-logs', parcels })
}

async function read({ writer, rows, startedAtMs }: Warehouse, profileId: string, records: object[], laterMs = 0) {
  const [row] = await rows(
    `select generation::int as g from vitalsync.ledger where profile_id = $1 and stream = 'scores'`,
    [profileId],
  )
  const reading = {
    profileId,
    sentAtMs: startedAtMs + laterMs,
    records,
    word: 'finished' as const,
    generation: Number(row?.['g']),
  }
  return writer.store(scoresReading(reading))
}

const causes = async ({ rows }: Warehouse) =>
  (await rows(`select local_date::text as day, state, cause, evidence from warehouse.days
    where stream = 'scores' and local_date between '2026-03-01' and '2026-03-04' order by external_id, local_date`)) as {
    day: string
    state: string
    cause: string | null
    evidence: Record<string, unknown> | null
  }[]

test('a day that settles without a record gets its cause in the same commit, a day with records none', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await handIn(warehouse, [steps(ada, 1), steps(ada, 2), steps(ada, 4)])
  await push(warehouse, ada)

  await read(warehouse, ada, [scoreRecord({ scoreDateTime: march(1) })])

  expect((await causes(warehouse)).map(({ state, cause }) => [state, cause])).toEqual([
    ['data', null],
    ['empty', 'sent_not_derived'],
    ['empty', 'nothing_sent'],
    ['empty', 'sent_not_derived'],
  ])
  const [, second, third] = await causes(warehouse)
  expect(second?.evidence).toMatchObject({ kinds: ['steps'], devices: ['watch'], wornMinutes: 840, wornHours: 14 })
  expect(third?.evidence).toEqual({ before: '2026-03-02', after: '2026-03-04' })
  expect(await warehouse.rows('select stream from vitalsync.ledger where explained')).toEqual([{ stream: 'scores' }])
})

test.for([
  ['a score of an evening in the west', 'scores', march(2, '23:30:00-02:00'), [marchMs(3), marchMs(5)]],
  ['a score of the first midnight on earth', 'scores', march(2, '00:00:00+14:00'), [marchMs(1), marchMs(2)]],
  [
    'a night that begins at the first noon on earth',
    'biomarkers',
    march(1, '12:00:00+14:00'),
    [marchMs(1) - DAY, marchMs(1)],
  ],
] as const)(
  'a day has no cause while %s counts for it, which a reading of other days has found',
  async ([, name, at, [startMs, endMs]], { warehouse }) => {
    const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
    const { writer, rows, startedAtMs } = warehouse
    const stream = streamByName(name)
    const instants = { scoreDateTime: at, startDateTime: at, endDateTime: at }
    const record = { type: 'deep', periodicity: 'daily', value: 1, ...instants }
    const readDay = (profileId: string, laterMs: number) =>
      writer.store(
        scoresReading({
          ...{ profileId, stream, sentAtMs: startedAtMs + laterMs, records: [] },
          window: { startMs: marchMs(2), endMs: marchMs(3) },
        }),
      )
    const empty = async () => {
      const found = await rows(`select profile_id from vitalsync.empty_days where local_date = '2026-03-02'`)
      return new Set(found.map(({ profile_id }) => profile_id))
    }
    const others = { profileId: ada, stream, sentAtMs: startedAtMs, records: [record], window: { startMs, endMs } }
    await writer.store(scoresReading(others))
    await Promise.all([readDay(ada, 1), readDay(bob, 1)])
    expect(await empty()).toEqual(new Set([bob]))

    await rows(`update vitalsync.${stream.table} set gone_at = changed_at`)
    await rows(`update vitalsync.ledger set covered = '{}'`)
    await readDay(ada, 2)

    expect(await empty()).toEqual(new Set([ada, bob]))
  },
)

test('the days of a person whose logs come from elsewhere are not ours to explain', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')

  await read(warehouse, ada, [])

  expect((await causes(warehouse)).map(({ cause }) => cause)).toEqual(Array.from({ length: 4 }, () => 'not_through_us'))
})

test.for(['waiting', 'refused'])(
  'logs that are %s are not upstream’s to explain, on each day that they touch by any offset from UTC',
  async (kept, { warehouse }) => {
    const { outbox, rows, addProfiles } = warehouse
    const [first, last] = [marchMs(2, '10:00:00Z'), marchMs(4, '12:00:00Z')]
    const log = (startAtMs: number, endAtMs: number, stream = 'data-logs') => ({ startAtMs, endAtMs, stream })
    const [touching, other] = ['unknown', 'sent_not_derived']
    const cases = [
      { name: 'before it', item: log(marchMs(1), first - 1), cause: other },
      { name: 'until it begins', item: log(marchMs(1), first), cause: touching },
      { name: 'before it ends', item: log(last - 1, marchMs(5)), cause: touching },
      { name: 'after it', item: log(last, marchMs(5)), cause: other },
      { name: 'a tag', item: log(marchMs(3), marchMs(4), 'tags'), cause: other },
    ]
    const people = await addProfiles(...cases.map(({ name }) => name))
    for (const [index, profileId] of people.entries()) {
      const item = cases[index]?.item ?? log(0, 0)
      await handIn(warehouse, [steps(profileId, 3)])
      await push(warehouse, profileId)
      await handIn(warehouse, [{ ...item, profileId, itemKey: 'odd', body: '{}' }])
      const { parcels } = await outbox.readWaiting(profileId, item.stream)
      const refused = parcels.map(({ id: parcelId, body }) => ({ parcelId, body, place: 0, path: '', reason: 'odd' }))
      if (kept === 'refused') await outbox.quarantineRefused({ ...item, profileId, parcels }, refused)
    }

    await Promise.all(people.map((profileId) => read(warehouse, profileId, [])))

    const found = await rows(`select external_id as name, cause, evidence -> '${kept}' as kept from warehouse.days
      where stream = 'scores' and local_date = '2026-03-03'`)
    const expected = cases.map(({ name, cause }) => [name, { cause, kept: cause === touching ? true : null }])
    expect(Object.fromEntries(found.map(({ name, ...why }) => [name, why]))).toEqual(Object.fromEntries(expected))
  },
)

test('a late upload changes the cause, and the history says from what to what', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await handIn(warehouse, [steps(ada, 1)])
  await push(warehouse, ada)
  await read(warehouse, ada, [])
  expect((await causes(warehouse))[1]?.cause).toBe('nothing_sent')

  await handIn(warehouse, [steps(ada, 2)])
  await push(warehouse, ada)
  expect((await causes(warehouse))[1]).toMatchObject({ state: 'unsettled', cause: null })
  await read(warehouse, ada, [], 10)
  expect((await causes(warehouse))[1]?.cause).toBe('sent_not_derived')

  await handIn(warehouse, [{ ...steps(ada, 2), itemKey: 'more', body: '{}' }])
  await push(warehouse, ada)
  await read(warehouse, ada, [scoreRecord({ scoreDateTime: march(2) })], 20)

  expect((await causes(warehouse))[1]).toMatchObject({ state: 'data', cause: null, evidence: null })
  const changes = await warehouse.rows(
    `select external_id, local_date::text as day, change, from_cause, to_cause from warehouse.cause_changes order by change`,
  )
  expect(changes).toEqual([
    { external_id: 'ada', day: '2026-03-02', change: 1, from_cause: 'nothing_sent', to_cause: 'sent_not_derived' },
    { external_id: 'ada', day: '2026-03-02', change: 2, from_cause: 'sent_not_derived', to_cause: 'data' },
  ])
})

test('in whichever order the same logs come, the causes are the same', async ({ warehouse }) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const logs = (profileId: string) => [
    steps(profileId, 1),
    steps(profileId, 2, { startMs: 9 * HOUR, endMs: 11 * HOUR }),
    steps(profileId, 4),
  ]
  for (const [laterMs, log] of logs(ada).entries()) {
    await handIn(warehouse, [log])
    await push(warehouse, ada)
    await read(warehouse, ada, [], laterMs * 10)
  }
  for (const [laterMs, log] of logs(bob).toReversed().entries()) {
    await handIn(warehouse, [log])
    await push(warehouse, bob)
    await read(warehouse, bob, [], laterMs * 10)
  }

  const all = await causes(warehouse)
  const withoutParcels = all.map(({ day, cause, evidence }) => ({ day, cause, ...evidence, parcels: undefined }))
  expect(withoutParcels.slice(0, 4)).toEqual(withoutParcels.slice(4))
})

test('what is late as a rule is waited for until its time has passed', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const first = dayNumberFromText('2026-02-10')
  for (let day = first; day < dayNumberFromText(march(1)); day += 1) {
    const log = {
      ...steps(ada, 1),
      itemKey: dayText(day),
      body: `{"id":"${day}"}`,
      startAtMs: day * DAY,
      endAtMs: day * DAY + HOUR,
    }
    await handIn(warehouse, [log], (day + 9) * DAY)
    const evidence = { kind: 'heart', offsetMinutes: 0, device: 'watch', isTimed: true } as const
    await handIn(warehouse, [{ ...log, itemKey: `heart ${day}`, evidence }], (day + 12) * DAY)
  }
  await push(warehouse, ada)

  await read(warehouse, ada, [])

  // The reading is of today, long after the usual delay.
  expect((await causes(warehouse))[0]).toMatchObject({ cause: 'nothing_sent', evidence: { usualDelayHours: 192 } })
  await warehouse.rows(
    `update vitalsync.empty_days set cause = 'sent_late_expected', until_at = now() + interval '1 hour'`,
  )
  expect((await causes(warehouse))[0]?.cause).toBe('sent_late_expected')
  await warehouse.rows(`update vitalsync.empty_days set until_at = now() - interval '1 hour'`)
  expect((await causes(warehouse))[0]?.cause).toBe('nothing_sent')
})

test('a day that settles in two readings gets its cause with the second', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const noon = marchMs(2, '12:00:00Z')
  const { writer, startedAtMs: sentAtMs } = warehouse
  await writer.store(
    scoresReading({ profileId: ada, sentAtMs, records: [], window: { startMs: marchMs(1), endMs: noon } }),
  )
  expect(await warehouse.rows('select local_date::text as day from vitalsync.empty_days')).toEqual([
    { day: '2026-03-01' },
  ])

  await writer.store(
    scoresReading({ profileId: ada, sentAtMs, records: [], window: { startMs: noon, endMs: marchMs(3) } }),
  )

  expect(await warehouse.rows('select local_date::text as day from vitalsync.empty_days order by 1')).toEqual([
    { day: '2026-03-01' },
    { day: '2026-03-02' },
  ])
})

test('a day gets its cause in a single row where an hour of it was settled before', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, startedAtMs: sentAtMs } = warehouse
  const hour = { startMs: marchMs(2, '12:00:00Z'), endMs: marchMs(2, '13:00:00Z') }
  await writer.store(scoresReading({ profileId: ada, sentAtMs, records: [], window: hour }))

  await writer.store(scoresReading({ profileId: ada, sentAtMs: sentAtMs + 1, records: [] }))

  expect((await causes(warehouse)).map(({ day, cause }) => [day, cause])).toEqual(
    ['2026-03-01', '2026-03-02', '2026-03-03', '2026-03-04'].map((day) => [day, 'not_through_us']),
  )
})
