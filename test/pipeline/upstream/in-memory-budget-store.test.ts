import { expect, test } from 'vitest'
import type { FleetBudget } from '../../../src/pipeline/fleet/budget.ts'
import { createInMemoryBudgetStore } from '../../../src/pipeline/upstream/lone-upstream.ts'
import { memberState } from '../../support/member-state.ts'

function openStore() {
  const clock = { nowMs: 5000 }
  return { clock, store: createInMemoryBudgetStore(() => clock.nowMs) }
}

test('a second begins with the first request, ends a thousand milliseconds later, and then all its permits are back', async () => {
  const { clock, store } = openStore()
  expect(await store.acquireRatePermits(3, 4)).toEqual({ granted: 3, endsInMs: 1000 })
  clock.nowMs += 999
  expect(await store.acquireRatePermits(3, 4)).toEqual({ granted: 1, endsInMs: 1 })

  clock.nowMs += 1
  expect(await store.acquireRatePermits(3, 4)).toEqual({ granted: 3, endsInMs: 1000 })
})

test('a limit that fell below what the second has granted grants nothing, and takes nothing back', async () => {
  const { store } = openStore()
  await store.acquireRatePermits(6, 8)

  expect(await store.acquireRatePermits(2, 4)).toMatchObject({ granted: 0 })

  expect(await store.acquireRatePermits(5, 8)).toMatchObject({ granted: 2 })
})

test('of all that change one version of the budget one succeeds', async () => {
  const { store } = openStore()
  const budgetOf = (version: number, inFlight: number): FleetBudget => ({
    ...{ version, inFlight, requestsPerSecond: 10, pausedUntilMs: 0, cutAtMs: 0, grownAtMs: 0, quietLatencyMs: 0 },
  })
  const [first, second, other] = [budgetOf(1, 8), budgetOf(2, 4), budgetOf(2, 2)]

  expect(await store.compareAndSet(first, second)).toBe(false)
  expect(await store.compareAndSet(undefined, first)).toBe(true)
  expect(await store.compareAndSet(undefined, other)).toBe(false)
  expect(await store.compareAndSet(first, second)).toBe(true)
  expect(await store.compareAndSet(first, other)).toBe(false)

  const mine = memberState('m', {})
  expect(await store.heartbeat(mine)).toEqual({ members: [mine], budget: second, nowMs: 5000 })
})
