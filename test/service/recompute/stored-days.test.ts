import { expect } from 'vitest'
import { ensureAccount } from '../../../src/service/store/credentials/api-keys.ts'
import { createProfile } from '../../../src/service/store/service-profiles.ts'
import { deleteDays, readDayFacts, readRecentDays, storeDays } from '../../../src/service/store/stored-day-facts.ts'
import { test } from '../../support/fixtures.ts'
import { openTestPool } from '../../support/test-pool.ts'

const nowAt = new Date('2026-03-10T12:00:00Z')
const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}`
const factsOf = (number: number, night?: number) =>
  JSON.stringify({ offset: number, ...(night === undefined ? {} : { night: { offset: night } }) })

/** The facts of days 1 to 9, of two profiles, stored from the last on; heights on days 2, 4 and 6. */
test('the stored days of a profile are read, replaced and deleted without those of others', async ({
  serviceUrl,
  onTestFinished,
}) => {
  const pool = openTestPool(serviceUrl)
  onTestFinished(() => pool.end())
  const accountId = await ensureAccount(pool, { name: 'a', nowAt })
  const [ada = '', bob = ''] = await Promise.all(
    ['ada', 'bob'].map((externalId) => createProfile(pool, { accountId, externalId, nowAt })),
  )
  const numbers = [9, 8, 7, 6, 5, 4, 3, 2, 1]
  const stored = (number: number, more = 0) => ({
    localDay: day(number),
    facts: factsOf(number + more, number % 2 === 0 ? 60 : undefined),
    outcome: null,
    hasHeight: [2, 4, 6].includes(number),
  })
  await storeDays(
    pool,
    ada,
    numbers.map((number) => stored(number)),
  )
  await storeDays(pool, bob, [stored(3, 100), { ...stored(7, 100), hasHeight: true }])
  const daysOf = async (profileId: string, first: number, last: number) =>
    (await readDayFacts(pool, { profileId, firstDay: day(first), lastDay: day(last) }))
      .map(({ localDay }) => Number(localDay.slice(-2)))
      .toSorted((a, b) => a - b)

  // With the last day before them that has a height.
  expect(await daysOf(ada, 8, 9)).toEqual([6, 8, 9])
  expect(await daysOf(ada, 6, 7)).toEqual([4, 6, 7])
  expect(await daysOf(ada, 1, 1)).toEqual([1])
  expect(await daysOf(bob, 4, 9)).toEqual([7])
  expect(await readRecentDays(pool, { profileId: ada, firstDay: day(7) })).toEqual([
    { localDay: day(7), offsetMinutes: 7, nightOffsetMinutes: null },
    { localDay: day(8), offsetMinutes: 8, nightOffsetMinutes: 60 },
    { localDay: day(9), offsetMinutes: 9, nightOffsetMinutes: null },
  ])

  await storeDays(pool, ada, [{ ...stored(3, 50), outcome: 'new', hasHeight: true }])
  expect(await readDayFacts(pool, { profileId: ada, firstDay: day(4), lastDay: day(4) })).toContainEqual({
    ...{ localDay: day(3), facts: factsOf(53), outcome: 'new' },
  })
  await deleteDays(pool, ada, [day(3), day(9)])
  expect(await daysOf(ada, 1, 9)).toEqual([1, 2, 4, 5, 6, 7, 8])
  expect(await daysOf(bob, 1, 9)).toEqual([3, 7])
})
