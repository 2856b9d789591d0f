import pg from 'pg'
import { expect } from 'vitest'
import { sandboxCredentialsOf } from '../../../src/base/contract/sandbox-credentials.ts'
import { seedAccount } from '../../../src/service/sandbox/seeding.ts'
import { createServicePool } from '../../../src/service/store/service-pool.ts'
import { createProfile } from '../../../src/service/store/service-profiles.ts'
import { template, within } from '../../support/fixtures.ts'
import { office, openSandboxWorld, query, quiet, runner, test } from './sandbox-world.ts'

const seededAtMs = Date.parse('2026-11-20T18:00:00Z')

/** The ids of everything that a sandbox of three people stores in a database. */
async function seededIds(databaseUrl: string) {
  const world = await openSandboxWorld({ databaseUrl, profiles: 3, machine: () => seededAtMs })
  await world.sandbox.close()
  const read = (sql: string) => query(databaseUrl, sql)
  return {
    accounts: await read('select account_id from service.accounts'),
    profiles: await read('select profile_id from service.profiles order by external_id'),
    logs: await read('select id from service.logs order by id'),
    tags: await read('select id from service.tags order by id'),
  }
}

test('one seed has the same ids in every database, so that faults strike the same records', async ({ serviceUrl }) => {
  const here = await seededIds(serviceUrl)
  expect(here.accounts).toHaveLength(1)
  expect(here.profiles).toHaveLength(3)
  expect(here.logs.length).toBeGreaterThan(100)
  expect(here.tags.length).toBeGreaterThan(0)
  await within(await template('service'), async (elsewhereUrl) => {
    expect(await seededIds(elsewhereUrl)).toEqual(here)
  })
})

test('one seed is one account with one profile of a name, however many start at once', async ({ serviceUrl }) => {
  const pool = createServicePool({
    databaseUrl: serviceUrl,
    connectionsMax: 8,
    statementTimeoutMs: 10_000,
    log: quiet,
  })
  const nowAt = new Date(seededAtMs)
  const create = async (seed: string) => {
    const accountId = await seedAccount(pool, { seed, credentials: sandboxCredentialsOf('secret'), nowAt })
    await createProfile(pool, { accountId, externalId: runner, nowAt, profileId: accountId })
    return accountId
  }
  try {
    for (let round = 0; round < 40; round += 1) {
      const created = await Promise.all(Array.from({ length: 8 }, () => create(`round ${round}`)))
      expect(new Set(created).size).toBe(1)
    }
    expect((await pool.query('select from service.profiles')).rowCount).toBe(40)
  } finally {
    await pool.end()
  }
})

test('people are derived while others are stored, and nobody before all of their logs are', async ({ serviceUrl }) => {
  const two = { databaseUrl: serviceUrl, profiles: 2, machine: () => seededAtMs }
  const killed = await openSandboxWorld(two)
  await killed.sandbox.close()
  await query(serviceUrl, 'delete from service.device_information') // what is stored last is missing of both
  const derived = () =>
    query(serviceUrl, 'select external_id from service.derivations join service.profiles using (profile_id)')
  const holder = new pg.Client({ connectionString: serviceUrl })
  await holder.connect()
  await holder.query('begin')
  await holder.query('select from service.profiles where external_id = $1 for update', [office])

  const starting = openSandboxWorld({ ...two, derives: true })
  await expect
    .poll(derived, { timeout: 20_000 })
    .toEqual([{ external_id: 'SampleProfile-shift-worker-1' }])
    .finally(() => holder.end()) // lets the other person go on

  const world = await starting
  await world.sandbox.derived()
  expect(await derived()).toHaveLength(2)
  await world.sandbox.close()
})
