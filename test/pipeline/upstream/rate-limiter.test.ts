import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import {
  type BudgetLimits,
  type BudgetStore,
  initialBudget,
  type MemberState,
} from '../../../src/pipeline/fleet/budget.ts'
import { openPostgresBudgetStore } from '../../../src/pipeline/queue/budget-store-postgres.ts'
import { openRedisBudgetStore } from '../../../src/pipeline/queue/budget-store-redis.ts'
import { openRateLimiter, type RateLimiter } from '../../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryBudgetStore } from '../../../src/pipeline/upstream/lone-upstream.ts'
import { openWarehousePool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { test as base } from '../../support/fixtures.ts'
import { memberState } from '../../support/member-state.ts'
import { testDivision } from '../../support/test-pool.ts'
import { sleepFor } from '../../support/test-upstream.ts'

const unbounded = Number.POSITIVE_INFINITY
const fine = { latencyMs: 1, overloaded: false, retryAfterMs: 0 }

const test = base.extend<{ openRedis: () => BudgetStore; openPostgres: () => BudgetStore }>({
  openRedis: async ({ redisUrl }, use) => {
    const opened: Redis[] = []
    const prefix = `{${randomUUID()}}:budget`
    await use(() => {
      const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 })
      opened.push(redis)
      return openRedisBudgetStore({ redis, prefix })
    })
    for (const redis of opened) redis.disconnect()
  },
  openPostgres: async ({ warehouseUrl }, use) => {
    const pool = openWarehousePool({
      databaseUrl: warehouseUrl,
      division: testDivision,
      connectionsMax: 4,
      name: 'budget',
    })
    await use(() => openPostgresBudgetStore({ pool }))
    await pool.end()
  },
})

function limiterOn(store: BudgetStore, limits: BudgetLimits): RateLimiter {
  const limiter = openRateLimiter({ store, limits, member: randomUUID(), clock: Date.now, sleep: sleepFor })
  onTestFinished(() => limiter.close())
  return limiter
}

type OpenStore = () => BudgetStore
type StoreTest = (title: string, body: (open: OpenStore) => Promise<void>) => void

function storeSuite(name: string, storeTest: StoreTest): void {
  describe(`the budget store in ${name}`, () => {
    storeTest('shows every member the state of all members, and no more of members that left', async (open) => {
      const [a, b] = [open(), open()]
      await a.heartbeat(memberState('a', { nightly: 3 }))
      const seen = await b.heartbeat(memberState('b', { backfill: 1 }))

      expect(seen.members.map(({ member }) => member).sort()).toEqual(['a', 'b'])
      expect(seen.budget).toBeUndefined()
      await a.removeMember('a')
      expect((await b.heartbeat(memberState('b', {}))).members.map(({ member }) => member)).toEqual(['b'])
    })

    storeTest('changes the budget once for all who see the same overload', async (open) => {
      const [a, b] = [open(), open()]
      const first = initialBudget({ requestsPerSecond: unbounded, inFlight: 10 }, 0)
      expect(await Promise.all([a.compareAndSet(undefined, first), b.compareAndSet(undefined, first)])).toContain(true)

      const changes = await Promise.all(
        [a, b, a, b].map((store) => store.compareAndSet(first, { ...first, version: 2, requestsPerSecond: 5 })),
      )

      expect(changes.filter(Boolean)).toHaveLength(1)
      expect((await a.heartbeat(memberState('a', {}))).budget).toEqual({ ...first, version: 2, requestsPerSecond: 5 })
    })

    storeTest('gives out no more permits of a second than there are, whichever process asks', async (open) => {
      const stores = [open(), open(), open()]
      const permits = await Promise.all(
        Array.from({ length: 30 }, (_, index) => stores[index % 3]?.acquireRatePermits(7, 100)),
      )

      // Thirty requests to the store may reach into the next second, and there the count begins again.
      const granted = permits.reduce((sum, each) => sum + (each?.granted ?? 0), 0)
      expect(granted).toBeGreaterThanOrEqual(98)
      expect(granted).toBeLessThanOrEqual(200)
      expect(permits.every((each) => each !== undefined && each.endsInMs <= 1001)).toBe(true)
    })

    storeTest('keeps two processes together within the requests in flight', twoProcessesStayWithinTheBudget)
    storeTest('gives a process that begins all permits, though an idle one says nothing', idleProcessHoldsNothing)
    storeTest('lets more processes than there are requests in flight all get through', moreProcessesThanPermits)
    storeTest('lets one process slow down the others', oneProcessSlowsDownTheOther)
    storeTest('keeps an overload beside another change of the budget', decreasesABudgetThatAnotherHasJustChanged)
  })
}

async function idleProcessHoldsNothing(open: OpenStore): Promise<void> {
  const budget: BudgetLimits = { requestsPerSecond: unbounded, inFlight: 8 }
  const paused = new AbortController()
  const afterOneHeartbeat = () => new Promise<void>((ends) => paused.signal.addEventListener('abort', () => ends()))
  const silent = openRateLimiter({
    store: open(),
    limits: budget,
    member: 'silent',
    clock: Date.now,
    sleep: afterOneHeartbeat,
  })
  onTestFinished(async () => {
    const closed = silent.close()
    paused.abort()
    await closed
  })
  await expect.poll(() => silent.state().memberCount).toBe(1)

  const begins = limiterOn(open(), budget)
  await Promise.all(Array.from({ length: 8 }, () => begins.acquire('nightly', undefined)))

  expect(begins.state()).toMatchObject({ inFlight: 8, memberCount: 2 })
}

async function moreProcessesThanPermits(open: OpenStore): Promise<void> {
  const limiters = Array.from({ length: 5 }, () => limiterOn(open(), { requestsPerSecond: unbounded, inFlight: 3 }))
  await expect.poll(() => limiters.map((limiter) => limiter.state().memberCount)).toEqual([5, 5, 5, 5, 5])
  const requestTenTimes = async (limiter: RateLimiter) => {
    for (let request = 0; request < 10; request += 1) {
      await limiter.acquire('nightly', undefined)
      await new Promise((turned) => setImmediate(turned))
      limiter.release('nightly', fine)
    }
  }
  const all = limiters.flatMap((limiter) => [requestTenTimes(limiter), requestTenTimes(limiter)])
  expect(await Promise.all(all)).toHaveLength(10)
}

async function twoProcessesStayWithinTheBudget(open: OpenStore): Promise<void> {
  const limiters = [
    limiterOn(open(), { requestsPerSecond: unbounded, inFlight: 8 }),
    limiterOn(open(), { requestsPerSecond: unbounded, inFlight: 8 }),
  ]
  let inFlight = 0
  let most = 0
  const answers: Array<() => void> = []
  const request = async (limiter: RateLimiter) => {
    await limiter.acquire('nightly', undefined)
    inFlight += 1
    most = Math.max(most, inFlight)
    await new Promise<void>((answered) => answers.push(answered))
    inFlight -= 1
    limiter.release('nightly', fine)
  }
  await expect.poll(() => limiters.map((limiter) => limiter.state().memberCount)).toEqual([2, 2])

  const all = Promise.all(limiters.flatMap((limiter) => Array.from({ length: 20 }, () => request(limiter))))
  // Answered only when all permits are taken, five times over: a ninth request would have had every chance to start.
  for (let left = 40; left > 0; left -= 8) {
    await expect.poll(() => inFlight).toBe(8)
    for (const answered of answers.splice(0)) answered()
  }
  await all

  expect(most).toBe(8)
}

async function oneProcessSlowsDownTheOther(open: OpenStore): Promise<void> {
  const limits = { requestsPerSecond: unbounded, inFlight: 20 }
  const [overloaded, other] = [limiterOn(open(), limits), limiterOn(open(), limits)]
  await overloaded.acquire('nightly', undefined)
  await other.acquire('nightly', undefined)
  other.release('nightly', fine)

  overloaded.release('nightly', { latencyMs: 5, overloaded: true, retryAfterMs: 4000 })

  await expect.poll(() => other.state().pausedUntilMs).toBeGreaterThan(Date.now())
  expect(other.state().inFlightMax).toBe(12)
}

async function decreasesABudgetThatAnotherHasJustChanged(open: OpenStore): Promise<void> {
  const store = open()
  const limiter = limiterOn(store, { requestsPerSecond: unbounded, inFlight: 20 })
  await limiter.acquire('nightly', undefined)
  const { budget } = await store.read()
  if (!budget) throw new Error('the limiter that has given a permit has written no budget')
  // The limiter's next write of the budget that it knows is refused.
  expect(await store.compareAndSet(budget, { ...budget, version: budget.version + 1, quietLatencyMs: 5 })).toBe(true)

  limiter.release('nightly', { latencyMs: 5, overloaded: true, retryAfterMs: 0 })

  await expect.poll(async () => (await store.read()).budget?.inFlight).toBe(12)
  expect((await store.read()).budget?.quietLatencyMs).toBe(5)
}

storeSuite('memory', (title, body) => {
  base(title, async () => {
    const shared = createSharedInMemoryStore()
    await body(() => shared)
  })
})
storeSuite('Redis', (title, body) => {
  test(title, async ({ openRedis }) => body(openRedis))
})
storeSuite('Postgres', (title, body) => {
  test(title, async ({ openPostgres }) => body(openPostgres))
})

/** The in-memory store has one member; for the suite it gives all members that ever sent a heartbeat. */
function createSharedInMemoryStore(): BudgetStore {
  const store = createInMemoryBudgetStore(Date.now)
  const members = new Map<string, MemberState>()
  return {
    ...store,
    async heartbeat(mine) {
      members.set(mine.member, mine)
      return { ...(await store.heartbeat(mine)), members: [...members.values()] }
    },
    removeMember: async (member) => void members.delete(member),
  }
}

describe('the rate limiter', () => {
  const limits = { requestsPerSecond: unbounded, inFlight: 1 }

  base('admits the most urgent lane first, within a lane in order of arrival', async () => {
    const limiter = limiterOn(createInMemoryBudgetStore(Date.now), limits)
    await limiter.acquire('backfill', undefined)
    const order: string[] = []
    const wait = async (lane: 'nightly' | 'manual' | 'backfill', name: string) => {
      await limiter.acquire(lane, undefined)
      order.push(name)
      limiter.release(lane, fine)
    }

    const all = [wait('backfill', 'b1'), wait('manual', 'm1'), wait('nightly', 'n1'), wait('nightly', 'n2')]
    limiter.release('backfill', fine)
    await Promise.all(all)

    expect(order).toEqual(['n1', 'n2', 'm1', 'b1'])
  })

  base('a caller that gives up leaves the queue and takes no permit', async () => {
    const limiter = limiterOn(createInMemoryBudgetStore(Date.now), limits)
    await limiter.acquire('nightly', undefined)
    const leaving = new AbortController()

    const waiting = limiter.acquire('nightly', leaving.signal)
    leaving.abort()

    await expect(waiting).rejects.toThrow('given up by its caller')
    limiter.release('nightly', fine)
    expect(limiter.state().inFlight).toBe(0)
    expect(limiter.acquire('nightly', undefined)).toBeUndefined()
  })

  base('a long pause sends every waiter back to the queue with the time to come again', async () => {
    const limiter = limiterOn(createInMemoryBudgetStore(Date.now), limits)
    await limiter.acquire('nightly', undefined)
    const waiting = Promise.resolve(limiter.acquire('nightly', undefined)).catch((error: unknown) => error)

    limiter.release('nightly', { latencyMs: 1, overloaded: true, retryAfterMs: 600_000 })

    expect(await waiting).toBeInstanceOf(RetryLater)
    const afterwards = await Promise.resolve(limiter.acquire('manual', undefined)).catch((error: unknown) => error)
    expect(afterwards).toBeInstanceOf(RetryLater)
    expect((afterwards as RetryLater).waitMs).toBeGreaterThan(590_000)
  })

  base('keeps to the requests of a second', async () => {
    const limiter = limiterOn(createInMemoryBudgetStore(Date.now), { requestsPerSecond: 50, inFlight: 10 })
    const startedAtMs = Date.now()

    for (let request = 0; request < 120; request += 1) {
      await limiter.acquire('nightly', undefined)
      limiter.release('nightly', fine)
    }

    expect(Date.now() - startedAtMs).toBeGreaterThan(1900)
  })

  base('goes on with a small part of the budget when its store is away', async () => {
    const away: BudgetStore = {
      ...createInMemoryBudgetStore(Date.now),
      heartbeat: () => Promise.reject(new Error('gone')),
    }
    const limiter = limiterOn(away, { requestsPerSecond: unbounded, inFlight: 50 })

    await limiter.acquire('nightly', undefined)

    expect(limiter.state()).toMatchObject({ inFlight: 1 })
  })

  base('closing rejects all waiters', async () => {
    const limiter = openRateLimiter({
      store: createInMemoryBudgetStore(Date.now),
      limits,
      member: 'a',
      clock: Date.now,
      sleep: sleepFor,
    })
    await limiter.acquire('nightly', undefined)
    const waiting = Promise.resolve(limiter.acquire('nightly', undefined)).catch((error: unknown) => error)

    await limiter.close()

    expect(await waiting).toBeInstanceOf(RetryLater)
  })
})
