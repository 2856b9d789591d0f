import type pg from 'pg'
import { expect } from 'vitest'
import { ensureAccount } from '../../../src/service/store/credentials/api-keys.ts'
import { storeDataLogs } from '../../../src/service/store/data-logs.ts'
import {
  deleteMarks,
  lockAgainstErasure,
  markDaysWithLogs,
  markEveryStoredDay,
  markSingleDays,
  readDerivationInputs,
  readMarks,
  splitMark,
} from '../../../src/service/store/derivation-queue.ts'
import { writeDemographics } from '../../../src/service/store/profile-metadata.ts'
import { createServicePool, type Queryable, withTransaction } from '../../../src/service/store/service-pool.ts'
import { createProfile, deleteProfiles, findProfileId } from '../../../src/service/store/service-profiles.ts'
import { storeDays } from '../../../src/service/store/stored-day-facts.ts'
import { readChange } from '../../../src/service/store/waiting-profiles.ts'
import { test as base, soon } from '../../support/fixtures.ts'
import { countLockWaiters, rowsFrom } from '../../support/lock-waiters.ts'
import { inputOf, log } from '../derive/made-logs.ts'
import { quiet } from './recompute-world.ts'

const nowAt = new Date('2026-03-10T12:00:00Z')
const day = (number: number) => `2026-03-${String(number).padStart(2, '0')}`
const numberOf = (localDay: string) => Number(localDay.slice(-2))

/** Ada has logs of a night from day 1 to day 2 and of day 10, and facts of day 5; Bob has a log of day 3 and facts of day 7. */
async function fill(pool: pg.Pool) {
  const accountId = await ensureAccount(pool, { name: 'a', nowAt })
  const [ada = '', bob = ''] = await Promise.all(
    ['ada', 'bob'].map((externalId) => createProfile(pool, { accountId, externalId, nowAt })),
  )
  const night = log('sleep_stage_light', `${day(1)}T23:00:00Z`, [120, 120])
  const steps = (number: number) => log('steps', `${day(number)}T10:00:00Z`, [5, 500])
  await storeDataLogs(pool, { profileId: ada, logs: [night, steps(10)].map(inputOf), nowAt })
  await storeDataLogs(pool, { profileId: bob, logs: [inputOf(steps(3))], nowAt })
  const facts = (number: number) => [{ localDay: day(number), facts: '{}', outcome: null, hasHeight: false }]
  await storeDays(pool, ada, facts(5))
  await storeDays(pool, bob, facts(7))
  await pool.query('delete from service.dirty_days')
  const mark = (numbers: readonly number[], db: Parameters<typeof markSingleDays>[0] = pool) =>
    markSingleDays(db, { profileId: ada, localDays: numbers.map(day), nowAt })
  const marks = () => readMarks(pool, ada, 100)
  const waiters = () => countLockWaiters(rowsFrom(pool))
  return { accountId, ada, bob, mark, marks, waiters }
}

const test = base.extend<{ pool: pg.Pool }>({
  pool: async ({ serviceUrl }, use) => {
    // A statement that waits for a lock that it should not wait for fails, and does not hang.
    const limits = { connectionsMax: 4, statementTimeoutMs: 10_000 }
    const pool = createServicePool({ databaseUrl: serviceUrl, log: quiet, ...limits })
    await use(pool)
    await pool.end()
  },
})

test.for([
  ['a change of demographics', markDaysWithLogs, [1, 2, 10]],
  ['another model', markEveryStoredDay, [1, 5, 10]],
] as const)('%s marks the days of that profile alone, each as a whole', async ([, markAll, days], { pool }) => {
  const { ada, mark, marks } = await fill(pool)
  await mark([1])

  await markAll(pool, ada, nowAt)

  expect((await marks()).map(({ localDay, isSingle }) => [numberOf(localDay), isSingle])).toEqual(
    days.map((number) => [number, false]),
  )
})

test('a derivation takes the person of its own profile', async ({ pool }) => {
  const { ada, bob } = await fill(pool)
  const ages = new Map([
    [ada, 34],
    [bob, 51],
  ])
  for (const [profileId, age] of ages)
    await writeDemographics(pool, { profileId, fields: { age }, mode: 'replace', nowAt })

  for (const [profileId, age] of ages)
    expect(await readDerivationInputs(pool, profileId)).toMatchObject({ person: { age } })
})

test('the earliest marks are read first', async ({ pool }) => {
  const { ada, mark } = await fill(pool)
  await mark([3, 1, 2])

  expect((await readMarks(pool, ada, 2)).map(({ localDay }) => numberOf(localDay))).toEqual([1, 2])
})

test('a mark that was renewed since it was read is not split', async ({ pool }) => {
  const { ada, marks } = await fill(pool)
  await markDaysWithLogs(pool, ada, nowAt)
  const [first, second] = await marks()
  if (!first || !second) throw new Error('no marks')
  await markDaysWithLogs(pool, ada, nowAt)
  const split = (mark: typeof first) => splitMark(pool, { profileId: ada, mark, localDays: [], nowAt })

  await split(first)
  await split({ ...second, mark: (await marks())[1]?.mark ?? '' })

  expect((await marks()).map(({ isSingle }) => isSingle)).toEqual([false, true, false])
})

test('to mark single days that are marked changes nothing', async ({ pool }) => {
  const { ada, mark, marks } = await fill(pool)
  await markDaysWithLogs(pool, ada, nowAt)
  const before = [await marks(), await readChange(pool, ada)]

  await mark([1, 2, 10])

  expect([await marks(), await readChange(pool, ada)]).toEqual(before)
})

test('a derivation deletes no mark that is being renewed, and does not wait for it', async ({ pool }) => {
  const { ada, marks } = await fill(pool)
  await markDaysWithLogs(pool, ada, nowAt)
  const seen = await marks()

  await withTransaction(pool, async (change) => {
    await markDaysWithLogs(change, ada, nowAt)
    await deleteMarks(pool, ada, seen)
  })

  expect(await marks()).toHaveLength(3)
})

test('two that mark the same days in other orders do not wait for each other', async ({ pool }) => {
  const { mark, marks, waiters } = await fill(pool)

  const other = await withTransaction(pool, async (first) => {
    await mark([1], first)
    const second = mark([2, 1])
    await expect.poll(waiters, soon).toBe(1)
    await mark([2], first)
    return { second }
  })

  await other.second
  expect(await marks()).toHaveLength(2)
})

test('a profile is not erased while its records are written', async ({ pool }) => {
  const { accountId, ada, waiters } = await fill(pool)

  const { erasure } = await withTransaction(pool, async (writing) => {
    expect(await lockAgainstErasure(writing, ada)).toBe(true)
    const erasure = deleteProfiles(pool, { accountId, externalIds: ['ada'] })
    await expect.poll(waiters, soon).toBe(1)
    expect(await findProfileId(writing, { accountId, externalId: 'ada' })).toBe(ada)
    return { erasure }
  })

  expect(await erasure).toEqual([ada])
  expect(await lockAgainstErasure(pool, ada)).toBe(false)
})

test('two erasures of the same profiles do not wait for each other in a circle', async ({ pool }) => {
  const { accountId, waiters } = await fill(pool)
  const [earlier, later] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']
  for (const profileId of [later, earlier])
    await createProfile(pool, { accountId, externalId: profileId, nowAt, profileId })

  const { second } = await withTransaction(pool, async (first) => {
    await lockAsErasure(first, earlier)
    const second = deleteProfiles(pool, { accountId, externalIds: [later, earlier] })
    await expect.poll(waiters, soon).toBe(1)
    await lockAsErasure(first, later)
    return { second }
  })

  expect(await second).toEqual([earlier, later])
})

const lockAsErasure = (tx: Queryable, profileId: string) =>
  tx.query('select from service.profiles where profile_id = $1 for update', [profileId])
