import fc from 'fast-check'
import { expect } from 'vitest'
import { READING_AGE_MAX_MS } from '../../../../src/pipeline/ledger/judge.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { march, marchMs, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const first = { startMs: marchMs(1), endMs: marchMs(5) }
const second = { startMs: marchMs(5), endMs: marchMs(9) }

test('whatever the order of arrival, the newest reading is what stays', async ({ warehouse }) => {
  const { writer, rows, startedAtMs } = warehouse
  const people = await warehouse.addProfiles(...Array.from({ length: 12 }, (_, index) => `person-${index}`))
  // The values that upstream held at six moments; at two of them the record was not there.
  const values = [0.1, undefined, 0.3, 0.1, undefined, 0.6]
  const orders = fc.sample(fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 2 }), people.length)

  for (const [index, profileId] of people.entries()) {
    for (const moment of orders[index] ?? []) {
      const value = values[moment]
      const records = value === undefined ? [] : [scoreRecord({ scoreDateTime: march(2), value })]
      await writer.store(scoresReading({ profileId, sentAtMs: startedAtMs + moment, records }))
    }
  }

  for (const [index, profileId] of people.entries()) {
    const newest = values[Math.max(...(orders[index] ?? []))]
    const found = await rows('select value from vitalsync.scores where profile_id = $1 and gone_at is null', [
      profileId,
    ])
    expect(found, `order ${orders[index]}`).toEqual(newest === undefined ? [] : [{ value: newest }])
  }
})

test('a record that changed and changed back is not overwritten by what an older reading saw in between', async ({
  warehouse,
}) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const is = scoreRecord({ scoreDateTime: march(2), value: 0.1 })
  const between = scoreRecord({ scoreDateTime: march(2), value: 0.9 })
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs, records: [is] }))
  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 20, records: [is] }))

  await writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + 10, records: [between] }))

  expect(await rows('select value, revision from vitalsync.scores')).toEqual([{ value: 0.1, revision: 1 }])
  expect(await rows(`select read_at from vitalsync.ledger where stream = 'scores'`)).toEqual([
    { read_at: new Date(startedAtMs + 20) },
  ])
})

test('a record on the edge of two windows, which both answers hold, is not overwritten by an older reading', async ({
  warehouse,
}) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const biomarkersOfAda = { profileId: ada, stream: streamByName('biomarkers') }
  const night = (value: string) => ({
    type: 'sleep_duration',
    category: 'sleep',
    periodicity: 'daily',
    aggregation: 'total',
    startDateTime: march(4, '18:00:00Z'),
    endDateTime: march(5, '17:59:59Z'),
    value,
  })
  const store = (sentAtMs: number, window: typeof first, value: string) =>
    writer.store(
      scoresReading({ ...biomarkersOfAda, window, sentAtMs: startedAtMs + sentAtMs, records: [night(value)] }),
    )
  await store(0, first, '400')
  await store(20, second, '400')

  await store(10, first, '7')

  expect(await rows('select value from vitalsync.biomarkers')).toEqual([{ value: '400' }])
  expect(await warehouse.covered(ada, 'biomarkers')).toBe('{["2026-03-01 00:00:00+00","2026-03-09 00:00:00+00")}')
})

test('a record on the edge of two windows that the newer neighbour did not hold is stored by the older reading', async ({
  warehouse,
}) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  // An upstream that reads the end of a period as exclusive sends this record for the first window only.
  const monthly = {
    name: 'sleep_duration',
    periodicity: 'monthly',
    startDateTime: march(1),
    endDateTime: march(5),
    value: 'short_sleeper',
  }
  const archetypes = { profileId: ada, stream: streamByName('archetypes') }
  await writer.store(scoresReading({ ...archetypes, window: second, sentAtMs: startedAtMs + 20, records: [] }))

  await writer.store(scoresReading({ ...archetypes, window: first, sentAtMs: startedAtMs + 10, records: [monthly] }))

  expect(await rows('select value, gone_at from vitalsync.archetypes')).toEqual([
    { value: 'short_sleeper', gone_at: null },
  ])
})

test('the row of a record says when the record was read, in case the ledger has forgotten', async ({ warehouse }) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const score = (day: number, value: number) => scoreRecord({ scoreDateTime: march(day), value })
  const store = (later: number, records: object[]) =>
    writer.store(scoresReading({ profileId: ada, sentAtMs: startedAtMs + later, records }))
  await store(20, [score(2, 0.9), score(3, 0.9)])
  await rows(`update vitalsync.ledger set recent = '[]'`)

  await store(10, [score(2, 0.1)])

  const stored = { value: 0.9, revision: 1, gone_at: null }
  expect(await rows('select value, revision, gone_at from vitalsync.scores')).toEqual([stored, stored])
})

test('an older snapshot never replaces a newer one, also when the ledger has forgotten, and the same one nothing', async ({
  warehouse,
}) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const person = { profileId: ada, stream: streamByName('demographics') }
  const at = (from: number, to: number) => ({ startMs: startedAtMs + from, endMs: startedAtMs + to })
  const is = { age: 35 }
  await writer.store(scoresReading({ ...person, window: at(-100, 0), sentAtMs: startedAtMs, records: [is] }))
  await writer.store(scoresReading({ ...person, window: at(20, 30), sentAtMs: startedAtMs + 30, records: [is] }))

  await writer.store(
    scoresReading({ ...person, window: at(0, 10), sentAtMs: startedAtMs + 10, records: [{ age: 99 }] }),
  )
  await writer.store(scoresReading({ ...person, window: at(0, 10), sentAtMs: startedAtMs + 11, records: [] }))
  await rows(`update vitalsync.ledger set recent = '[]'`)
  await rows('update vitalsync.demographics set read_at = $1', [new Date(startedAtMs + 30)])
  await writer.store(
    scoresReading({ ...person, window: at(0, 12), sentAtMs: startedAtMs + 12, records: [{ age: 99 }] }),
  )

  expect(await rows('select age, revision, gone_at from vitalsync.demographics')).toEqual([
    { age: 35, revision: 1, gone_at: null },
  ])
})

test('a reading that comes after an hour, when newer ones may be forgotten, stores nothing', async ({ warehouse }) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const sentAtMs = startedAtMs - READING_AGE_MAX_MS - 1000

  const stored = await writer.store(
    scoresReading({ profileId: ada, sentAtMs, records: [scoreRecord({ scoreDateTime: march(2) })] }),
  )

  expect(stored).toMatchObject({ outcome: 'too-old', written: 0 })
  expect(await rows('select 1 from vitalsync.scores')).toEqual([])
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
})
