import { expect } from 'vitest'
import { openReadingWriter } from '../../../../src/pipeline/warehouse/readings/reading-writer.ts'
import { test as base, march, scoreRecord, scoresReading, settle } from '../../../support/test-warehouse.ts'

type Fixtures = {
  ada: string
  /** Stores scores of the first hours of March: one for each number, requested the given ms after the first reading. */
  store: (laterMs: number, hours: readonly number[], value?: number, profileId?: string) => Promise<string>
  gone: () => Promise<number>
  suspicions: () => Promise<unknown>
}

const test = base.extend<Fixtures>({
  ada: async ({ warehouse }, use) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    await use(ada)
  },
  store: async ({ warehouse, ada }, use) => {
    const belief = { goneShareMax: 0.5, spacingMs: 100 }
    const writer = openReadingWriter({
      pool: warehouse.pool,
      now: Date.now,
      rowsPerCommit: 1000,
      commitsAtOnce: 2,
      belief,
      settle,
      account: 'test',
    })
    await use(async (laterMs, hours, value = 0.5, profileId = ada) => {
      const records = hours.map((hour) => {
        const scoreDateTime = march(1, `${String(hour).padStart(2, '0')}:00:00Z`)
        return scoreRecord({ scoreDateTime, value })
      })
      const sentAtMs = warehouse.startedAtMs + laterMs
      return (await writer.store(scoresReading({ profileId, sentAtMs, records }))).outcome
    })
    await writer.close()
  },
  gone: async ({ warehouse }, use) => {
    await use(async () => (await warehouse.rows('select 1 from vitalsync.scores where gone_at is not null')).length)
  },
  suspicions: async ({ warehouse }, use) => {
    await use(async () => (await warehouse.rows(`select doubts from vitalsync.ledger where stream = 'scores'`))[0])
  },
})

const hours = (count: number) => Array.from({ length: count }, (_, hour) => hour)

test('a reading without any of the stored records marks nothing gone and covers nothing, until a second one agrees', async ({
  warehouse,
  ada,
  store,
  gone,
  suspicions,
}) => {
  await warehouse.addProfiles('bob')
  await store(0, hours(3))
  await warehouse.rows(`update vitalsync.ledger set covered = '{}'`)

  expect(await store(10, [])).toBe('suspicious')
  expect(await store(109, [])).toBe('suspicious')
  expect(await warehouse.rows('select profile_id, stream from vitalsync.ledger where doubts is not null')).toEqual([
    { profile_id: ada, stream: 'scores' },
  ])
  expect(await gone()).toBe(0)
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
  expect(await warehouse.rows('select 1 from vitalsync.history')).toEqual([])

  expect(await store(110, [])).toBe('stored')
  expect(await gone()).toBe(3)
  expect(await warehouse.covered(ada, 'scores')).not.toBe('{}')
  expect(await warehouse.rows('select 1 from vitalsync.history')).toHaveLength(3)
  expect(await suspicions()).toEqual({ doubts: null })
})

test('of ten records and more, one reading may mark half of them gone and no more; of fewer, all but one', async ({
  store,
  gone,
}) => {
  await store(0, hours(10))
  expect(await store(1000, hours(4))).toBe('suspicious')
  expect(await store(1001, hours(5))).toBe('stored')
  expect(await gone()).toBe(5)

  expect(await store(2000, hours(1))).toBe('stored')
  expect(await gone()).toBe(9)
})

test('only the records that a reading might mark gone are counted beside those that it lacks', async ({
  warehouse,
  store,
  gone,
}) => {
  await store(0, hours(4))
  await warehouse.rows('update vitalsync.scores set score_date_time = $1 where score_date_time = $2', [
    ...[march(5), march(1, '03:00:00Z')],
  ])
  expect(await store(10, hours(2)), 'one is gone, and one begins with the next window').toBe('stored')

  expect(await store(20, [])).toBe('suspicious')
  expect(await gone()).toBe(1)
})

test('each reading of one commit is weighed by the records of its own person', async ({ warehouse, store }) => {
  const people = await warehouse.addNeighbours(3)
  const storeAll = (laterMs: number, given: readonly (readonly number[])[]) =>
    Promise.all(people.map((profileId, index) => store(laterMs, given[index] ?? [], 0.5, profileId)))
  await storeAll(0, [hours(3), hours(12), [4, 5]])

  expect(await storeAll(10, [[], hours(12), []])).toEqual(['suspicious', 'stored', 'suspicious'])

  const doubts = await warehouse.rows(
    `select profile_id, jsonb_array_length(doubts -> 0 -> 3) as lacked from vitalsync.ledger
     where doubts is not null order by profile_id`,
  )
  expect(doubts).toEqual([
    { profile_id: people[0], lacked: 3 },
    { profile_id: people[2], lacked: 2 },
  ])
})

test('the records of a suspicious reading are stored, and a record that comes back is no longer missed', async ({
  warehouse,
  store,
  gone,
  suspicions,
}) => {
  await store(0, hours(4))

  expect(await store(10, [7], 0.9)).toBe('suspicious')
  expect(await warehouse.rows('select value from vitalsync.scores where value = 0.9')).toHaveLength(1)
  expect(await store(1000, [...hours(4), 7], 0.9)).toBe('stored')

  expect(await gone()).toBe(0)
  expect(await suspicions()).toEqual({ doubts: null })
  expect(await store(2000, [])).toBe('suspicious')
})

test('a suspicious reading does not end a refusal: the time of the next try goes on growing', async ({
  warehouse,
  ada,
  store,
}) => {
  await store(0, hours(3))
  const { window, stream } = scoresReading({ profileId: ada, sentAtMs: 0, records: [] })
  const refusal = { profileId: ada, stream: stream.name, window, status: undefined, reason: 'not twice the same' }
  await warehouse.ledger.recordRefusal(refusal)
  await store(10, [])
  await warehouse.ledger.recordRefusal(refusal)

  expect(await warehouse.rows('select attempts from vitalsync.refusals')).toEqual([{ attempts: 2 }])
  await store(200, [])
  expect(await warehouse.rows('select attempts from vitalsync.refusals')).toEqual([])
})
