import { randomUUID } from 'node:crypto'
import { sleep } from '../../base/sleep.ts'
import type { BudgetLimits, BudgetStore, FleetBudget } from '../fleet/budget.ts'
import { openUpstream, type Upstream } from './client.ts'
import { openRateLimiter } from './limits/rate-limiter.ts'
import { createInMemoryTokenStore } from './tokens/in-memory-token-store.ts'

type LoneUpstream = {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly limits: BudgetLimits
}

/** The upstream of a process that shares neither tokens nor the request budget with others: both live in its memory. */
export function openLoneUpstream({ url, limits, ...credentials }: LoneUpstream): Upstream {
  const clock = Date.now
  const store = createInMemoryBudgetStore(clock)
  const rateLimiter = openRateLimiter({ store, limits, member: randomUUID(), clock, sleep })
  const tokenStore = createInMemoryTokenStore(clock)
  const upstream = openUpstream({ url, credentials, tokenStore, rateLimiter, clock, random: Math.random, sleep })
  return {
    ...upstream,
    async close() {
      await upstream.close()
      await rateLimiter.close()
    },
  }
}

/** A budget store for a fleet of one process. */
export function createInMemoryBudgetStore(clock: () => number): BudgetStore {
  let budget: FleetBudget | undefined
  let second = { endsAtMs: 0, granted: 0 }
  return {
    heartbeat: async (mine) => ({ members: [mine], budget, nowMs: clock() }),
    read: async () => ({ members: [], budget, nowMs: clock() }),
    async compareAndSet(expected, next) {
      if (expected?.version !== budget?.version) return false
      budget = next
      return true
    },
    async acquireRatePermits(wanted, limit) {
      const nowMs = clock()
      if (nowMs >= second.endsAtMs) second = { endsAtMs: nowMs + 1000, granted: 0 }
      const granted = Math.max(0, Math.min(wanted, limit - second.granted))
      second.granted += granted
      return { granted, endsInMs: second.endsAtMs - nowMs }
    },
    removeMember: async () => undefined,
    close: async () => undefined,
  }
}
