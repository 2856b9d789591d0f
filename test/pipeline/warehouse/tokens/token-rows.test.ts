import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { HOUR } from '../../../../src/base/time/units.ts'
import type { LeaseResult, NewToken, TokenName } from '../../../../src/pipeline/fleet/tokens.ts'
import { openWarehousePool, type Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test as base, soon } from '../../../support/fixtures.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
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

test('processes that ask for the same tokens in another order do not wait for one another in a circle', async ({
  warehouseUrl,
  pool,
}) => {
  const others = [openPool(warehouseUrl), openPool(warehouseUrl)]
  const stores = others.map((other) => createPostgresTokenStore({ pool: other, keys }))
  await insertPeople(pool, peopleNames(3))
  await pool.query(`insert into vitalsync.tokens (account, profile_id) values ('a', 1), ('a', 2), ('a', 3)`)
  const holder = await connect(warehouseUrl)
  await holder.query('begin; select from vitalsync.tokens where profile_id = 2 for update')
  const order = [1, 2, 3]
  const asked = stores.map((store, index) =>
    Promise.all((index === 0 ? order : order.toReversed()).map((id) => store.lease(nameOf(id), ask))),
  )
  const waiting = async () => {
    const { rows } = await pool.query(`select from pg_stat_activity where wait_event_type = 'Lock'`)
    return rows.length
  }
  await expect.poll(waiting, soon).toBe(2)
  await holder.query('commit')
  await Promise.all(asked)
  await holder.end()
  for (const other of others) await other.end()

  // A connection that has ended has reported its numbers.
  const { rows } = await pool.query('select deadlocks::int from pg_stat_database where datname = current_database()')
  expect(rows).toEqual([{ deadlocks: 0 }])
})
