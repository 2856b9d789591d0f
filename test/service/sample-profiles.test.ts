import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { expect } from 'vitest'
import { ensureAccount, findApiKey } from '../../src/service/store/credentials/api-keys.ts'
import { hashSecret } from '../../src/service/store/credentials/secrets.ts'
import { markSingleDays } from '../../src/service/store/derivation-queue.ts'
import { writeDeviceInformation } from '../../src/service/store/profile-metadata.ts'
import {
  ensureApiKey,
  findExternalId,
  listSampleProfiles,
  listWaitingNames,
} from '../../src/service/store/sample-profiles.ts'
import { createProfile } from '../../src/service/store/service-profiles.ts'
import { test as base } from '../support/fixtures.ts'
import { openTestPool } from '../support/test-pool.ts'

const nowAt = new Date('2026-03-10T12:00:00Z')
const device = {
  ...{ sdkId: 'sdk', sdkVersion: '1', appId: 'app', deviceType: 'watch', deviceModel: 'W1' },
  ...{ system: 'OS', systemVersion: '2' },
}

const test = base.extend<{ pool: pg.Pool }>({
  pool: async ({ serviceUrl }, use) => {
    const pool = openTestPool(serviceUrl)
    await use(pool)
    await pool.end()
  },
})

async function addProfile(pool: pg.Pool, account: string, profile: { externalId: string; isSample?: boolean }) {
  const accountId = await ensureAccount(pool, { name: account, nowAt })
  const profileId = (await createProfile(pool, { accountId, nowAt, ...profile })) ?? ''
  return { accountId, profileId }
}

test('an account has its own sample profiles, and those with device information are complete', async ({ pool }) => {
  const { accountId } = await addProfile(pool, 'a', { externalId: 'begun', isSample: true })
  const complete = [
    await addProfile(pool, 'a', { externalId: 'whole', isSample: true }),
    await addProfile(pool, 'a', { externalId: 'of the account itself' }),
    await addProfile(pool, 'b', { externalId: 'of another account', isSample: true }),
  ]
  for (const { profileId } of complete) await writeDeviceInformation(pool, { profileId, fields: device, nowAt })

  const samples = await listSampleProfiles(pool, accountId)

  expect(new Set(samples)).toEqual(
    new Set([
      { externalId: 'begun', isComplete: false },
      { externalId: 'whole', isComplete: true },
    ]),
  )
})

test('a key that is there already keeps its account and its secret', async ({ pool }) => {
  const [first, second] = [
    await ensureAccount(pool, { name: 'a', nowAt }),
    await ensureAccount(pool, { name: 'b', nowAt }),
  ]
  const key = { kind: 'client', publicId: 'one', label: 'sandbox', nowAt } as const

  await ensureApiKey(pool, { ...key, accountId: first, secret: 'first' })
  await ensureApiKey(pool, { ...key, accountId: second, secret: 'second' })

  expect(await findApiKey(pool, key)).toEqual({ accountId: first, secretHash: hashSecret('first') })
})

test('each profile is found by its own name, and one that is erased has none, though it waits still', async ({
  pool,
}) => {
  const { profileId, accountId } = await addProfile(pool, 'a', { externalId: 'ada' })
  const other = await addProfile(pool, 'a', { externalId: 'bob' })
  const waiting = 'insert into service.waiting_profiles (profile_id, account_id, since) values ($1, $2, $3)'
  await pool.query(waiting, [randomUUID(), accountId, nowAt])
  await markSingleDays(pool, { profileId, localDays: ['2026-03-10'], nowAt })

  expect(await findExternalId(pool, profileId)).toBe('ada')
  expect(await findExternalId(pool, other.profileId)).toBe('bob')
  expect(await listWaitingNames(pool)).toEqual([{ profileId, externalId: 'ada' }])
})
