import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { HOUR } from '../../../../src/base/time/units.ts'
import type { LeaseResult, NewToken, TokenName } from '../../../../src/pipeline/fleet/tokens.ts'
import { openWarehousePool, type Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test as base, soon } from '../../../support/fixtures.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { countDeadlocks, countLockWaiters, rowsFrom } from '../../../support/lock-waiters.ts'
import { testDivision } from '../../../support/test-pool.ts'
import { connect } from '../../../support/test-warehouse.ts'

const openPool = (databaseUrl: string) =>
  openWarehousePool({ databaseUrl, division: testDivision, connectionsMax: 1, name: 'token-rows' })

const test = base.extend<{ pool: Pool }>({
  pool: async ({ warehouseUrl }, use) => {
    const pool = openPool(warehouseUrl)
    await use(pool)
    await pool.end()
  },
})

const keys = [randomBytes(32)]
const nameOf = (id: number): TokenName => ({ account: 'a', profileId: String(id) })
const ask = { generation: 0, leaseMs: HOUR }

function token(secret: string): NewToken {
  const nowMs = Date.now()
  return { secret, issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR }
}

function leaseOf(answer: LeaseResult | undefined) {
  if (answer?.kind !== 'leased') throw new Error(`expected a lease, got ${answer?.kind}`)
  return answer.lease
}

/** How many rows and entries of indexes the statements of `work` read in the table of tokens. */
async function countReads(pool: Pool, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ n: number }>(
      `select (t.seq_tup_read + sum(i.idx_tup_read))::float8 as n
       from pg_stat_user_tables t join pg_stat_user_indexes i using (relid) where t.relname = 'tokens' group by t.seq_tup_read`,
    )
    return rows[0]?.n ?? 0
  }
  const before = await read()
  await work()
  return (await read()) - before
}

test('plans that are kept from when there were no tokens look tokens up by the index', async ({ pool }) => {
  const store = createPostgresTokenStore({ pool, keys })
  const names = [nameOf(1), { account: 'a' }]
  const renewAll = (secret: string) =>
    Promise.all(
      names.map(async (name) => {
        const { generation } = await store.read(name)
        return store.save(name, leaseOf(await store.lease(name, { ...ask, generation })), token(secret))
      }),
    )
  await insertPeople(pool, peopleNames(2000))
  await pool.query('vacuum analyze vitalsync.tokens')
  await renewAll('first')
  await pool.query(
    `insert into vitalsync.tokens (account, profile_id) select 'a', id from vitalsync.names where id > 1`,
  )

  expect(await countReads(pool, () => renewAll('second'))).toBeLessThan(100)
  expect((await store.read(nameOf(1))).token?.secret).toBe('second')
})

test('a token that Postgres refuses, or whose profile is erased, keeps no other from being stored', async ({
  pool,
}) => {
  const store = createPostgresTokenStore({ pool, keys })
  await insertPeople(pool, peopleNames(5))
  const ids = [1, 2, 3, 999, 4, 5]

  const leased = await Promise.allSettled(ids.map((id) => store.lease(nameOf(id), ask)))
  expect(leased.map((result) => (result.status === 'fulfilled' ? result.value.kind : String(result.reason)))).toEqual(
    ids.map((id) => (id === 999 ? 'NotThere: renew token: the profile was erased here' : 'leased')),
  )
  const leases = leased.flatMap((result) => (result.status === 'fulfilled' ? [leaseOf(result.value)] : []))
  const saved = await Promise.allSettled(
    leases.map((lease, index) =>
      store.save(nameOf(index + 1), lease, { ...token('s'), ...(index === 2 ? { expiresAtMs: 1e300 } : {}) }),
    ),
  )

  expect(saved.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  const states = await Promise.all([1, 2, 3, 4, 5].map((id) => store.read(nameOf(id))))
  expect(states.map(({ generation }) => generation)).toEqual([1, 1, 0, 1, 1])
})

test('a lease saves one of two tokens that come at once', async ({ pool }) => {
  const store = createPostgresTokenStore({ pool, keys })
  await insertPeople(pool, peopleNames(1))
  const lease = leaseOf(await store.lease(nameOf(1), ask))

  const saved = await Promise.all(['one', 'other'].map((secret) => store.save(nameOf(1), lease, token(secret))))

  const [kept] = saved.flatMap((result) => (result ? [result.secret] : []))
  expect(saved.filter((result) => result === undefined)).toHaveLength(1)
  expect((await store.read(nameOf(1))).token?.secret).toBe(kept)
})

const kinds: Array<[string, (id: number) => TokenName]> = [
  ['profiles', nameOf],
  ['accounts', (id) => ({ account: `a${id}` })],
]
const waiters = (pool: Pool) => countLockWaiters(rowsFrom(pool))

test.for(kinds)(
  'a token of %s that another process leases for the first time is busy',
  async ([, of], { warehouseUrl, pool }) => {
    await insertPeople(pool, peopleNames(1))
    const { account, profileId } = of(1)
    const other = await connect(warehouseUrl)
    await other.query('begin')
    await other.query(
      `insert into vitalsync.tokens (account, profile_id, lease_holder, lease_until)
     values ($1, $2, gen_random_uuid(), now() + interval '1 hour')`,
      [account, profileId],
    )
    const own = openPool(warehouseUrl)
    const asked = createPostgresTokenStore({ pool: own, keys }).lease(of(1), ask)
    await expect.poll(() => waiters(pool), soon).toBe(1)
    await other.query('commit')

    expect(await asked).toEqual({ kind: 'busy' })
    await other.end()
    await own.end()
  },
)

const works = ['leases', 'saves'] as const

test.for(kinds.flatMap(([kind, of]) => works.map((work) => [kind, work, of] as const)))(
  'processes that lease tokens of %s in another order than another %s them do not wait for one another in a circle',
  async ([, work, of], { warehouseUrl, pool }) => {
    const pools = [openPool(warehouseUrl), openPool(warehouseUrl)] as const
    const leasing = createPostgresTokenStore({ pool: pools[0], keys })
    const other = createPostgresTokenStore({ pool: pools[1], keys })
    await insertPeople(pool, peopleNames(3))
    const ids = [1, 2, 3]
    // A lease that has ended: its holder may still save, and others may lease.
    const leases = await Promise.all(ids.map((id) => leasing.lease(of(id), { generation: 0, leaseMs: 0 })))
    const { account, profileId } = of(2)
    const holder = await connect(warehouseUrl)
    await holder.query('begin')
    await holder.query(
      'select from vitalsync.tokens where account = $1 and profile_id is not distinct from $2 for update',
      [account, profileId],
    )
    const asked = [
      ...ids.map((id) => leasing.lease(of(id), ask)),
      ...ids
        .toReversed()
        .map((id) =>
          work === 'leases' ? other.lease(of(id), ask) : other.save(of(id), leaseOf(leases[id - 1]), token('late')),
        ),
    ]
    await expect.poll(() => waiters(pool), soon).toBe(2)
    await holder.query('commit')
    await Promise.all(asked)
    await holder.end()
    for (const each of pools) await each.end()

    expect(await countDeadlocks(rowsFrom(pool))).toBe(0)
  },
)
