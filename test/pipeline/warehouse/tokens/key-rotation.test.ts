import { createHmac, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { HOUR } from '../../../../src/base/time/units.ts'
import { openWarehousePool, type Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { sealAnew } from '../../../../src/pipeline/warehouse/seals/seal-anew.ts'
import { createPostgresTokenStore } from '../../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test as base } from '../../../support/fixtures.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { testDivision } from '../../../support/test-pool.ts'

const test = base.extend<{ pool: Pool }>({
  pool: async ({ warehouseUrl }, use) => {
    const pool = openWarehousePool({
      databaseUrl: warehouseUrl,
      division: testDivision,
      connectionsMax: 4,
      name: 'key-rotation',
    })
    await use(pool)
    await pool.end()
  },
})

const [former, next, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const nameOf = (number: number) => ({ account: 'a', profileId: String(number) })

/** Renews the token of each of these profiles in a store that has these keys. */
async function renew(pool: Pool, keys: readonly Buffer[], numbers: readonly number[], secret: string): Promise<void> {
  const store = createPostgresTokenStore({ pool, keys })
  for (const number of numbers) {
    const { generation } = await store.read(nameOf(number))
    const asked = await store.lease(nameOf(number), { generation, leaseMs: HOUR })
    if (asked.kind !== 'leased') throw new Error(`expected a lease, got ${asked.kind}`)
    const nowMs = Date.now()
    await store.save(nameOf(number), asked.lease, { secret, issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR })
  }
}

const secretsOf = async (pool: Pool, keys: readonly Buffer[], numbers: readonly number[]) => {
  const store = createPostgresTokenStore({ pool, keys })
  return Promise.all(numbers.map(async (number) => (await store.read(nameOf(number))).token?.secret))
}

const addPeople = (pool: Pool, count: number) => insertPeople(pool, peopleNames(count))

test('keys change while tokens are renewed, and no token is lost or renewed for it', async ({ pool }) => {
  const count = 450 // three portions
  const numbers = Array.from({ length: count }, (_, at) => at + 1)
  await addPeople(pool, count)
  await renew(pool, [former], numbers, 'first')

  // One process after another learns the new key, then seals with it; meanwhile each opens what the others seal.
  await renew(pool, [former, next], [1], 'by one that knows both')
  expect(await secretsOf(pool, [next, former], [1, 2])).toEqual(['by one that knows both', 'first'])
  await renew(pool, [next, former], [2], 'by one that seals with the new key')
  expect(await secretsOf(pool, [former, next], [2])).toEqual(['by one that seals with the new key'])

  const [sealed, again] = await Promise.all([
    sealAnew(pool, [next, former]),
    sealAnew(pool, [next, former]),
    renew(pool, [former, next], numbers.slice(0, 20), 'meanwhile'),
  ])
  expect(sealed + again).toBeGreaterThan(400)
  expect(sealed + again).toBeLessThanOrEqual(count + 20) // what was renewed meanwhile may be sealed twice
  await sealAnew(pool, [next, former])

  const secrets = await secretsOf(pool, [next], numbers)
  expect(secrets.slice(0, 20)).toEqual(Array(20).fill('meanwhile'))
  expect(secrets.slice(20)).toEqual(Array(count - 20).fill('first'))
  expect(await secretsOf(pool, [former], [1, 450])).toEqual([undefined, undefined])
  const { rows } = await pool.query<{ max: string }>(
    'select max(generation) from vitalsync.tokens where profile_id > 20',
  )
  expect(rows).toEqual([{ max: '1' }])
})

const profilesOf = (pool: Pool, tokenKeys: readonly Buffer[]) => createProfiles({ pool, catalogue, tokenKeys })
const asNew = { wantedFrom: new Date(), state: 'new' } as const

async function erase(pool: Pool, keys: readonly Buffer[], externalId: string): Promise<void> {
  const profiles = profilesOf(pool, keys)
  await profiles.add([externalId], asNew)
  const found = await profiles.findId(externalId)
  await profiles.erase(found?.profileId ?? '')
}

test('the erased stay erased when keys change, and nothing in the database reveals who they were', async ({ pool }) => {
  await erase(pool, [former], 'ada')
  await sealAnew(pool, [next, former])
  await erase(pool, [next], 'bob')

  expect(await profilesOf(pool, [next]).add(['ada', 'bob', 'cleo'], asNew)).toEqual({ added: 1, known: 0, erased: 2 })
  const secrets = await pool.query<{ name: string; value: Buffer }>('select name, value from vitalsync.secrets')
  expect(secrets.rows.map(({ name }) => name)).toEqual(['tombstone-key'])
  const stored = await pool.query<{ digest: Buffer }>('select digest from vitalsync.tombstones')
  const digests = stored.rows.map(({ digest }) => digest.toString('hex'))
  for (const { value } of secrets.rows)
    expect(digests).not.toContain(createHmac('sha256', value).update('ada').digest('hex'))
})

test('without its key nobody is brought back, and where nobody is erased none is needed', async ({ pool }) => {
  expect(await profilesOf(pool, []).add(['dora'], asNew)).toMatchObject({ added: 1 })
  await erase(pool, [former], 'ada')

  for (const keys of [[], [foreign]]) {
    await expect(profilesOf(pool, keys).add(['ada'], asNew)).rejects.toThrow('TOKEN_KEY does not open')
    await expect(erase(pool, keys, 'eve')).rejects.toThrow('TOKEN_KEY')
  }
  expect(await profilesOf(pool, [former]).findId('ada')).toBeUndefined()
})
