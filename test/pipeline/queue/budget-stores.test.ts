import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { type BudgetStore, type FleetBudget, MEMBER_TTL_MS } from '../../../src/pipeline/fleet/budget.ts'
import { openPostgresBudgetStore } from '../../../src/pipeline/queue/budget-store-postgres.ts'
import { openRedisBudgetStore } from '../../../src/pipeline/queue/budget-store-redis.ts'
import { memberState } from '../../support/member-state.ts'
import { redisOfOurOwn } from '../../support/test-pipeline.ts'
import { test } from '../../support/test-warehouse.ts'

const budgetOf = (version: number, inFlight: number): FleetBudget => ({
  ...{ version, inFlight, requestsPerSecond: 10, pausedUntilMs: 0, cutAtMs: 0, grownAtMs: 0, quietLatencyMs: 0 },
})

async function expectOneChangeOfEachVersion(store: BudgetStore): Promise<void> {
  const stored = async () => (await store.heartbeat(memberState('m', {}))).budget
  expect(await stored()).toBeUndefined()
  const [first, second, other] = [budgetOf(1, 8), budgetOf(2, 4), budgetOf(2, 2)]

  expect(await store.compareAndSet(undefined, first)).toBe(true)
  expect(await store.compareAndSet(undefined, other)).toBe(false)
  expect(await store.compareAndSet(first, second)).toBe(true)
  // Another process saw the same overload, under the version before.
  expect(await store.compareAndSet(first, other)).toBe(false)

  expect(await stored()).toEqual(second)
}

async function expectReadingJoinsNobody(store: BudgetStore): Promise<void> {
  const mine = memberState('m', { nightly: 3 })
  expect(await store.read()).toMatchObject({ members: [], budget: undefined })

  const written = await store.heartbeat(mine)
  await store.compareAndSet(undefined, budgetOf(1, 8))
  const { nowMs, ...read } = await store.read()

  expect(read).toEqual({ members: [mine], budget: budgetOf(1, 8) })
  expect(nowMs).toBeGreaterThanOrEqual(written.nowMs)
  expect(nowMs).toBeLessThan(written.nowMs + MEMBER_TTL_MS)
  await expect.poll(async () => (await store.read()).members, { timeout: 3 * MEMBER_TTL_MS }).toEqual([])
}

/** The store's clock ends the second. */
async function expectSecondsOfTheirOwn(store: BudgetStore): Promise<void> {
  const first = await store.acquireRatePermits(3, 4)
  const second = await store.acquireRatePermits(3, 4)

  expect([first.granted, second.granted]).toEqual([3, 1])
  expect(first.endsInMs).toBeGreaterThan(900)
  expect(first.endsInMs).toBeLessThanOrEqual(1000)
  expect(second.endsInMs).toBeLessThanOrEqual(first.endsInMs)
  await expect.poll(async () => (await store.acquireRatePermits(3, 4)).granted).toBe(3)
  expect((await store.acquireRatePermits(3, 4)).granted).toBe(1)
}

const checks = [
  ['a second begins with its first request, and the next one has all permits', expectSecondsOfTheirOwn],
  ['who reads the budget joins no fleet, and sees its living members', expectReadingJoinsNobody],
  ['of all that change one version of the budget one succeeds', expectOneChangeOfEachVersion],
] as const

for (const [name, check] of checks) {
  test(`${name} (postgres)`, async ({ warehouse }) => {
    await check(openPostgresBudgetStore({ pool: warehouse.pool }))
  })

  test(`${name} (redis)`, async ({ redisUrl }) => {
    expect(redisUrl).not.toBe('')
    const store = openRedisBudgetStore({ redis: new Redis(await redisOfOurOwn()) })
    await check(store)
    await store.close()
  })
}
