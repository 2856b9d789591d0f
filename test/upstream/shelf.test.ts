import { randomBytes } from 'node:crypto'
import { describe, expect } from 'vitest'
import type { Lease, LeaseAnswer, NewToken, TokenShelf } from '../../src/tokens.ts'
import { createMemoryShelf } from '../../src/upstream/memory-shelf.ts'
import { openPool } from '../../src/warehouse/pool.ts'
import { openTokenShelf } from '../../src/warehouse/tokens.ts'
import { HOUR, MINUTE } from '../../src/window.ts'
import { test } from '../support/fixtures.ts'

type World = { shelf: TokenShelf /** Lets every lease and every breaker run out. */; timePasses(): Promise<void> }

const name = { account: 'a', profileId: '1' }
const long = { leaseMs: HOUR }

function token(secret: string): NewToken {
  const nowMs = Date.now()
  return { secret, refreshSecret: `refresh-${secret}`, issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR }
}

function leaseOf(answer: LeaseAnswer): Lease {
  if (answer.kind !== 'leased') throw new Error(`expected a lease, got ${answer.kind}`)
  return answer.lease
}

async function storeFirst(shelf: TokenShelf): Promise<void> {
  await shelf.store(name, leaseOf(await shelf.lease(name, { generation: 0, ...long })), token('one'))
}

const suites: Array<[string, (title: string, body: (world: World) => Promise<void>) => void]> = [
  [
    'memory',
    (title, body) => {
      test(title, async () => {
        let nowMs = Date.now()
        const timePasses = async () => {
          nowMs += 2 * HOUR
        }
        await body({ shelf: createMemoryShelf(() => nowMs), timePasses })
      })
    },
  ],
  [
    'Postgres',
    (title, body) => {
      test(title, async ({ warehouseUrl }) => {
        const pool = openPool({ databaseUrl: warehouseUrl, connectionsMax: 4, name: 'shelf' })
        await pool.query(`insert into vitalsync.profiles (external_id, wanted_from) values ('ada', now())`)
        const timePasses = async () => {
          await pool.query(`update vitalsync.tokens set lease_until = lease_until - interval '2 hours',
            broken_until = broken_until - interval '2 hours'`)
        }
        await body({ shelf: openTokenShelf({ pool, key: randomBytes(32) }), timePasses }).finally(() => pool.end())
      })
    },
  ],
]

describe.for(suites)('the shelf in %s', ([, each]) => {
  each('has nothing at first, and then what was stored', async ({ shelf }) => {
    expect(await shelf.read(name)).toMatchObject({ generation: 0, token: undefined, proven: false })

    await storeFirst(shelf)

    expect(await shelf.read(name)).toMatchObject({ generation: 1, proven: false })
    expect((await shelf.read(name)).token).toMatchObject({ generation: 1, secret: 'one', refreshSecret: 'refresh-one' })
    expect((await shelf.read({ account: 'a' })).token).toBeUndefined()
    expect((await shelf.read({ account: 'b', profileId: '1' })).token).toBeUndefined()
  })

  each('leases to one of many, and again when that one is done or dead', async ({ shelf, timePasses }) => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => shelf.lease(name, { generation: 0, ...long })))
    expect(answers.map(({ kind }) => kind).sort()).toEqual([...Array(7).fill('busy'), 'leased'])

    await timePasses()
    const second = leaseOf(await shelf.lease(name, { generation: 0, ...long }))
    await shelf.release(name, second)

    expect((await shelf.lease(name, { generation: 0, ...long })).kind).toBe('leased')
  })

  each('says newer to who comes for an older generation', async ({ shelf }) => {
    await storeFirst(shelf)

    expect(await shelf.lease(name, { generation: 0, ...long })).toMatchObject({
      kind: 'newer',
      token: { generation: 1 },
    })
    expect((await shelf.lease(name, { generation: 1, ...long })).kind).toBe('leased')
  })

  each('stores nothing for a holder that lost its lease', async ({ shelf, timePasses }) => {
    const lost = leaseOf(await shelf.lease(name, { generation: 0, ...long }))
    await timePasses()
    const held = leaseOf(await shelf.lease(name, { generation: 0, ...long }))

    expect(await shelf.store(name, lost, token('late'))).toBeUndefined()
    expect(await shelf.store(name, held, token('good'))).toMatchObject({ generation: 1, secret: 'good' })
    await shelf.release(name, lost)
    expect((await shelf.read(name)).token?.secret).toBe('good')
  })

  each('gives a refresh token to the first lease of its generation alone', async ({ shelf, timePasses }) => {
    await storeFirst(shelf)
    const first = leaseOf(await shelf.lease(name, { generation: 1, ...long }))
    expect(first.token?.refreshSecret).toBe('refresh-one')

    expect((await shelf.read(name)).token?.refreshSecret).toBeUndefined()
    await timePasses()
    const second = leaseOf(await shelf.lease(name, { generation: 1, ...long }))
    expect(second.token).toMatchObject({ secret: 'one', refreshSecret: undefined })

    await shelf.store(name, second, token('two'))
    const third = leaseOf(await shelf.lease(name, { generation: 2, ...long }))
    expect(third.token?.refreshSecret).toBe('refresh-two')
  })

  each('breaks for all until its time, but never over a newer token', async ({ shelf, timePasses }) => {
    await storeFirst(shelf)
    const breaker = { reason: 'refused', untilMs: Date.now() + MINUTE, openings: 2 }
    await shelf.trip(name, { generation: 0, breaker })
    expect((await shelf.read(name)).breaker).toBeUndefined()

    await shelf.trip(name, { generation: 1, breaker })
    expect(await shelf.lease(name, { generation: 1, ...long })).toMatchObject({
      kind: 'broken',
      breaker: { reason: 'refused', openings: 2 },
    })

    await timePasses()
    const lease = leaseOf(await shelf.lease(name, { generation: 1, ...long }))
    await shelf.store(name, lease, token('two'))
    expect((await shelf.read(name)).breaker?.openings).toBe(2)
    await shelf.prove(name, 1)
    expect((await shelf.read(name)).proven).toBe(false)
    await shelf.prove(name, 2)
    expect(await shelf.read(name)).toMatchObject({ proven: true, breaker: undefined })
  })

  each('counts the generations in a row that nobody saw accepted', async ({ shelf }) => {
    const counts: number[] = []
    for (let generation = 0; generation < 4; generation += 1) {
      await shelf.store(name, leaseOf(await shelf.lease(name, { generation, ...long })), token(`t${generation}`))
      counts.push((await shelf.read(name)).unprovenBefore)
      if (generation === 1) await shelf.prove(name, 2)
    }

    expect(counts).toEqual([0, 1, 0, 1])
  })

  each('forgets a profile everywhere, and nobody else', async ({ shelf }) => {
    await storeFirst(shelf)
    const own = { account: 'a' }
    await shelf.store(own, leaseOf(await shelf.lease(own, { generation: 0, ...long })), token('own'))

    await shelf.erase('1')

    expect((await shelf.read(name)).token).toBeUndefined()
    expect((await shelf.read(own)).token?.secret).toBe('own')
  })
})
