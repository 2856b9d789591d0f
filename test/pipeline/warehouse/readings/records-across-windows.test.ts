import { expect } from 'vitest'
import { streamByName } from '../../../support/stream-by-name.ts'
import { march, marchMs, scoresReading, test, type Warehouse } from '../../../support/test-warehouse.ts'

const left = { startMs: marchMs(1), endMs: marchMs(5) }
const right = { startMs: marchMs(5), endMs: marchMs(9) }

/** Nights reach from one evening to the next: the nights of the 4th lie across the edge between the two windows. */
const night = (type: string, day = 4) => ({
  type,
  category: 'sleep',
  periodicity: 'daily',
  aggregation: 'total',
  startDateTime: march(day, '18:00:00.250Z'),
  endDateTime: march(day + 1, '17:59:59.123456Z'),
  value: '400',
})
const [deep, light, inside] = [night('deep'), night('light'), night('light', 6)]

async function openBiomarkers(warehouse: Warehouse) {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const stream = streamByName('biomarkers')
  return {
    store: (laterMs: number, window: typeof left, records: object[]) =>
      warehouse.writer.store(
        scoresReading({ profileId: ada, stream, window, sentAtMs: warehouse.startedAtMs + laterMs, records }),
      ),
    gone: async () =>
      (await warehouse.rows('select type from vitalsync.biomarkers where gone_at is not null')).map(({ type }) => type),
  }
}

test('a record across two windows that vanishes is marked gone by the window that holds its end', async ({
  warehouse,
}) => {
  const { store, gone } = await openBiomarkers(warehouse)
  await store(0, left, [deep, light])
  await store(0, right, [deep, light, inside])

  await store(10, right, [light, inside])

  expect(await gone()).toEqual(['deep'])
  expect(await warehouse.rows('select raw from warehouse.history')).toEqual([{ raw: deep }])
})

test('a record that vanishes is marked gone also if it began before all records of the answer', async ({
  warehouse,
}) => {
  const { store, gone } = await openBiomarkers(warehouse)
  const early = { ...deep, startDateTime: march(4, '12:00:00Z') }
  await store(0, left, [early, light])
  await store(0, right, [early, light])

  await store(10, right, [light])

  expect(await gone()).toEqual(['deep'])
})

test('the window that holds only its start says nothing about it', async ({ warehouse }) => {
  const { store, gone } = await openBiomarkers(warehouse)
  await store(0, left, [deep, light])

  await store(10, left, [light])

  expect(await gone()).toEqual([])
})

test('where no answer shows that upstream sends records that began before, no such record is marked gone', async ({
  warehouse,
}) => {
  const { store, gone } = await openBiomarkers(warehouse)
  await store(0, left, [deep, light])

  // As an upstream answers that sends a record only for the window it begins in.
  for (const later of [10, 20]) {
    await store(later, right, [inside])
    await store(later + 1, left, [deep, light])
  }

  expect(await gone()).toEqual([])
  expect(await warehouse.rows('select 1 from vitalsync.history')).toEqual([])
})

test('a record that a newer reading of the neighbouring window held is not marked gone by an older reading', async ({
  warehouse,
}) => {
  const { store, gone } = await openBiomarkers(warehouse)
  await store(0, left, [deep, light])
  await store(20, left, [deep, light])

  await store(10, right, [light])

  expect(await gone()).toEqual([])
})

test('a record that a reading of the same instant held is not marked gone: the first of the two stays', async ({
  warehouse,
}) => {
  const { store, gone } = await openBiomarkers(warehouse)
  await store(0, left, [deep, light])

  await store(0, right, [light])

  expect(await gone()).toEqual([])
})

test('a record without an end is gone where it began, and as late as that', async ({ warehouse }) => {
  const { rows, writer, startedAtMs } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const [fever, walk] = ['fever', 'walk'].map((name) => ({ type: 'event', name, startDateTime: march(2) }))
  const store = (laterMs: number, records: object[]) =>
    writer.store(
      scoresReading({ profileId: ada, stream: streamByName('tags'), sentAtMs: startedAtMs + laterMs, records }),
    )
  await store(0, [fever ?? {}, walk ?? {}])

  await store(10, [walk ?? {}])

  expect(await rows('select name from vitalsync.tags where gone_at is not null')).toEqual([{ name: 'fever' }])
  expect(await rows('select late_ms from vitalsync.silent_differences')).toEqual([
    { late_ms: startedAtMs + 10 - marchMs(2) },
  ])
})

test('a record that lasts longer than the catalogue says is not marked gone', async ({ warehouse }) => {
  const { store, gone } = await openBiomarkers(warehouse)
  const long = { ...deep, startDateTime: '2026-02-20T00:00:00Z' }
  const longer = { ...light, startDateTime: '2026-02-19T00:00:00Z' }
  await store(0, right, [long, longer, light])

  await store(10, right, [longer, light])

  expect(await gone()).toEqual([])
})

test('an older answer that still holds a vanished record does not bring it back', async ({ warehouse }) => {
  const { store } = await openBiomarkers(warehouse)
  await store(20, right, [light])

  await store(10, left, [deep, light])

  expect(await warehouse.rows('select type from vitalsync.biomarkers where gone_at is null')).toEqual([
    { type: 'light' },
  ])
})
