import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { HOUR, MINUTE } from '../../../../src/base/time/units.ts'
import type { Lease, LeaseResult, NewToken, TokenName, TokenStore } from '../../../../src/pipeline/fleet/tokens.ts'
import { createInMemoryTokenStore } from '../../../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test } from '../../../support/fixtures.ts'
import { insertPeople } from '../../../support/insert-people.ts'
import { testDivision } from '../../../support/test-pool.ts'

type World = { store: TokenStore /** Lets every lease and every breaker expire. */; timePasses(): Promise<void> }

const name = { account: 'a', profileId: '1' }
const long = { leaseMs: HOUR }

function token(secret: string): NewToken {
  const nowMs = Date.now()
  return { secret, refreshSecret: `refresh-${secret}`, issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR }
}

function leaseOf(answer: LeaseResult): Lease {
  if (answer.kind !== 'leased') throw new Error(`expected a lease, got ${answer.kind}`)
  return answer.lease
}

async function storeFirst(store: TokenStore, name: TokenName): Promise<void> {
  await store.save(name, leaseOf(await store.lease(name, { generation: 0, ...long })), token('one'))
}

type Each = (title: string, body: (world: World) => Promise<void>) => void

const suites: Array<[string, Each]> = [
  [
    'memory',
    (title, body) => {
      test(title, async () => {
        let nowMs = Date.now()
        const timePasses = async () => {
          nowMs += 2 * HOUR
        }
        await body({ store: createInMemoryTokenStore(() => nowMs), timePasses })
      })
    },
  ],
  [
    'Postgres',
    (title, body) => {
      test(title, async ({ warehouseUrl }) => {
        const pool = openWarehousePool({
          databaseUrl: warehouseUrl,
          division: testDivision,
          connectionsMax: 4,
          name: 'token-store',
        })
        await insertPeople(pool, ['ada', 'bob'])
        const timePasses = async () => {
          await pool.query(`update vitalsync.tokens set lease_until = lease_until - interval '2 hours',
            broken_until = broken_until - interval '2 hours'`)
        }
        await body({ store: createPostgresTokenStore({ pool, keys: [randomBytes(32)] }), timePasses }).finally(() =>
          pool.end(),
        )
      })
    },
  ],
]

const kindsOfName: Array<[string, TokenName]> = [
  ['a profile', name],
  ['an account', { account: 'a' }],
]

/** Whatever happens to one token, another account's own token stays as it is, and free. */
const besideNeighbour =
  (each: Each): Each =>
  (title, body) =>
    each(title, async (world) => {
      const neighbour = { account: 'c' }
      await storeFirst(world.store, neighbour)
      const before = await world.store.read(neighbour)
      await body(world)
      expect(await world.store.read(neighbour)).toEqual(before)
      expect((await world.store.lease(neighbour, { generation: 1, ...long })).kind).toBe('leased')
    })

const namedSuites = suites.flatMap(([store, each]) =>
  kindsOfName.map(([kind, name]) => [store, kind, besideNeighbour(each), name] as const),
)

describe.for(suites)('the token store in %s', ([, each]) => {
  each('keeps the tokens, leases and breakers of many names apart, also when they ask at once', async ({ store }) => {
    const profiles = [name, { account: 'a', profileId: '2' }, { account: 'b', profileId: '1' }]
    const names: TokenName[] = [{ account: 'a' }, { account: 'b' }, ...profiles]
    const tokens = names.map((_, index) => {
      const issuedAtMs = Date.now() - index * MINUTE
      return { ...token(`${index}`), issuedAtMs, expiresAtMs: issuedAtMs + HOUR + index }
    })
    const leaseAll = (of: readonly TokenName[], generation: number) =>
      Promise.all(of.map((tokenName) => store.lease(tokenName, { generation, ...long })))
    const readAll = () => Promise.all(names.map((name) => store.read(name)))
    const leases = (await leaseAll(names, 0)).map(leaseOf)
    await Promise.all(names.map((name, index) => store.save(name, leases[index] as Lease, tokens[index] as NewToken)))
    expect((await readAll()).map((state) => state.token)).toMatchObject(tokens)

    // The tokens of some names are leased first; the others stay free.
    const [chosen, others] = [names.filter((_, index) => index % 2 === 0), names.filter((_, index) => index % 2 === 1)]
    const again = (await leaseAll(chosen, 1)).map(leaseOf)
    expect(again.map((lease) => lease.token)).toMatchObject(tokens.filter((_, index) => index % 2 === 0))
    expect((await leaseAll(others, 1)).map(({ kind }) => kind)).toEqual(['leased', 'leased'])
    expect((await leaseAll(names, 1)).map(({ kind }) => kind)).toEqual(names.map(() => 'busy'))

    await store.save(name, again[1] as Lease, token('next'))
    await store.tripBreaker(names[1] as TokenName, {
      generation: 1,
      breaker: { reason: 'refused', untilMs: Date.now() + HOUR, openings: 3 },
    })

    const states = await readAll()
    expect(states.map(({ token: kept }) => kept?.secret)).toEqual(['0', '1', 'next', '3', '4'])
    expect(states.map(({ generation }) => generation)).toEqual([1, 1, 2, 1, 1])
    expect(states.map(({ breaker }) => breaker?.openings)).toEqual([undefined, 3, undefined, undefined, undefined])
    expect((await leaseAll(names, 1)).map(({ kind }) => kind)).toEqual(['busy', 'broken', 'newer', 'busy', 'busy'])
  })

  each('a lease saves and releases the token that it was given for, and no other', async ({ store }) => {
    const others = [{ account: 'a', profileId: '2' }, { account: 'b', profileId: '1' }, { account: 'a' }]
    const leaseAnew = (tokenName: TokenName) => store.lease(tokenName, { generation: 0, ...long })
    const lease = leaseOf(await leaseAnew(name))
    const leases: Lease[] = []
    for (const other of others) leases.push(leaseOf(await leaseAnew(other)))

    for (const other of leases) {
      for (const notIts of [name, { account: 'b' }])
        expect(await store.save(notIts, other, token('of another'))).toBeUndefined()
      await store.release(name, other)
    }
    expect((await leaseAnew(name)).kind).not.toBe('leased')
    await store.release(name, lease)

    for (const other of others) expect((await leaseAnew(other)).kind).not.toBe('leased')
    expect((await leaseAnew(name)).kind).toBe('leased')
  })

  each('gives each account its own token of one person, also when they ask at once', async ({ store }) => {
    const names = [{ account: 'a' }, name, { account: 'b', profileId: '1' }]
    for (const name of names)
      await store.save(name, leaseOf(await store.lease(name, { generation: 0, ...long })), token(JSON.stringify(name)))

    const states = await Promise.all([...names, ...names].map((name) => store.read(name)))

    expect(states.map((state) => state.token?.secret)).toEqual([...names, ...names].map((name) => JSON.stringify(name)))
  })

  each('proves and breaks one token, and no other of its account or of its profile', async ({ store }) => {
    const others = [{ account: 'a' }, { account: 'b', profileId: '1' }, { account: 'a', profileId: '2' }]
    for (const tokenName of [name, ...others])
      await store.save(tokenName, leaseOf(await store.lease(tokenName, { generation: 0, ...long })), token('one'))
    const breaker = { reason: 'refused', untilMs: Date.now() + MINUTE, openings: 1 }
    const othersNow = () => Promise.all(others.map((other) => store.read(other)))

    await store.markProven(name, 1)
    await store.tripBreaker(name, { generation: 1, breaker })

    expect(await store.read(name)).toMatchObject({ proven: true, breaker: { reason: 'refused' } })
    for (const other of await othersNow()) expect(other).toMatchObject({ proven: false, breaker: undefined })

    await store.markProven({ account: 'a' }, 1)
    await store.tripBreaker({ account: 'a' }, { generation: 1, breaker })

    const [own, ...rest] = await othersNow()
    expect(own).toMatchObject({ proven: true, breaker: { reason: 'refused' } })
    for (const other of rest) expect(other).toMatchObject({ proven: false, breaker: undefined })
  })

  each('erases a profile under every account, and no other profile', async ({ store }) => {
    await storeFirst(store, name)
    const own = { account: 'a' }
    await store.save(own, leaseOf(await store.lease(own, { generation: 0, ...long })), token('own'))

    await store.eraseProfile('1')

    expect((await store.read(name)).token).toBeUndefined()
    expect((await store.read(own)).token?.secret).toBe('own')
  })
})

describe.for(namedSuites)('the token store in %s, for the token of %s', ([, , each, name]) => {
  each('has nothing at first, and then what was stored', async ({ store }) => {
    expect(await store.read(name)).toMatchObject({ generation: 0, token: undefined, proven: false })

    await storeFirst(store, name)

    expect(await store.read(name)).toMatchObject({ generation: 1, proven: false })
    expect((await store.read(name)).token).toMatchObject({ generation: 1, secret: 'one', refreshSecret: 'refresh-one' })
    const others: TokenName[] = [{ account: 'a' }, { account: 'a', profileId: '1' }, { account: 'b', profileId: '1' }]
    for (const other of others.filter((other) => other.profileId !== name.profileId || other.account !== name.account))
      expect((await store.read(other)).token).toBeUndefined()
  })

  each('leases to one of many, and again when the holder is done or dead', async ({ store, timePasses }) => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => store.lease(name, { generation: 0, ...long })))
    expect(answers.map(({ kind }) => kind).sort()).toEqual([...Array(7).fill('busy'), 'leased'])

    await timePasses()
    const second = leaseOf(await store.lease(name, { generation: 0, ...long }))
    await store.release(name, second)

    expect((await store.lease(name, { generation: 0, ...long })).kind).toBe('leased')
  })

  each('answers newer to a lease of an older generation', async ({ store }) => {
    await storeFirst(store, name)

    expect(await store.lease(name, { generation: 0, ...long })).toMatchObject({
      kind: 'newer',
      token: { generation: 1 },
    })
    expect((await store.lease(name, { generation: 1, ...long })).kind).toBe('leased')
    // The stored token is the one that was refused: all others wait for the next.
    expect(await store.lease(name, { generation: 1, ...long })).toEqual({ kind: 'busy' })
  })

  each('stores nothing for a holder that lost its lease', async ({ store, timePasses }) => {
    const lost = leaseOf(await store.lease(name, { generation: 0, ...long }))
    await timePasses()
    const held = leaseOf(await store.lease(name, { generation: 0, ...long }))

    expect(await store.save(name, lost, token('late'))).toBeUndefined()
    expect(await store.save(name, held, token('good'))).toMatchObject({ generation: 1, secret: 'good' })
    await store.release(name, lost)
    expect((await store.read(name)).token?.secret).toBe('good')
  })

  each('gives a refresh token to the first lease of its generation alone', async ({ store, timePasses }) => {
    await storeFirst(store, name)
    const first = leaseOf(await store.lease(name, { generation: 1, ...long }))
    expect(first.token?.refreshSecret).toBe('refresh-one')

    expect((await store.read(name)).token?.refreshSecret).toBeUndefined()
    await timePasses()
    const second = leaseOf(await store.lease(name, { generation: 1, ...long }))
    expect(second.token).toMatchObject({ secret: 'one', refreshSecret: undefined })

    await store.save(name, second, token('two'))
    const third = leaseOf(await store.lease(name, { generation: 2, ...long }))
    expect(third.token?.refreshSecret).toBe('refresh-two')
  })

  each('breaks for all until its time, but never over a newer token', async ({ store, timePasses }) => {
    await storeFirst(store, name)
    const breaker = { reason: 'refused', untilMs: Date.now() + MINUTE, openings: 2 }
    await store.tripBreaker(name, { generation: 0, breaker })
    expect((await store.read(name)).breaker).toBeUndefined()

    await store.tripBreaker(name, { generation: 1, breaker })
    expect(await store.lease(name, { generation: 1, ...long })).toMatchObject({
      kind: 'broken',
      breaker: { reason: 'refused', openings: 2 },
    })

    await timePasses()
    const lease = leaseOf(await store.lease(name, { generation: 1, ...long }))
    // Its time is over, though nobody knows yet whether the account is mended: the others wait for the one that tries.
    expect(await store.lease(name, { generation: 1, ...long })).toEqual({ kind: 'busy' })
    await store.save(name, lease, token('two'))
    expect((await store.read(name)).breaker?.openings).toBe(2)
    await store.markProven(name, 1)
    expect((await store.read(name)).proven).toBe(false)
    await store.markProven(name, 2)
    expect(await store.read(name)).toMatchObject({ proven: true, breaker: undefined })
  })

  each('counts the generations in a row that nobody saw accepted', async ({ store }) => {
    const counts: number[] = []
    for (let generation = 0; generation < 4; generation += 1) {
      await store.save(name, leaseOf(await store.lease(name, { generation, ...long })), token(`t${generation}`))
      counts.push((await store.read(name)).unprovenBefore)
      if (generation === 1) await store.markProven(name, 2)
    }

    expect(counts).toEqual([0, 1, 0, 1])
  })

  each('lifts a breaker by the first proof of a token, and by no later one', async ({ store }) => {
    await storeFirst(store, name)
    const breaker = { reason: 'refused', untilMs: Date.now() + MINUTE, openings: 1 }
    await store.markProven(name, 1)
    await store.tripBreaker(name, { generation: 1, breaker })

    await store.markProven(name, 1)

    expect((await store.read(name)).breaker).toMatchObject({ reason: 'refused' })
  })
})

test('a breaker is open as long as the database says, whatever the clock of this process', async ({ warehouseUrl }) => {
  const pool = openWarehousePool({ databaseUrl: warehouseUrl, connectionsMax: 1, name: 'token-store' })
  onTestFinished(() => pool.end())
  const store = createPostgresTokenStore({ pool, keys: [randomBytes(32)] })
  const account = { account: 'a' }
  const breaker = { reason: 'refused', untilMs: Date.now() + MINUTE, openings: 1 }
  await store.save(account, leaseOf(await store.lease(account, { generation: 0, ...long })), token('one'))
  await store.tripBreaker(account, { generation: 1, breaker })

  vi.useFakeTimers({ now: Date.now() + HOUR, toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())

  expect(await store.lease(account, { generation: 1, ...long })).toMatchObject({ kind: 'broken' })
})
