import { randomUUID } from 'node:crypto'
import { sleep } from '../../base/sleep.ts'
import type { BudgetLimits } from '../fleet/budget.ts'
import { openUpstream, type Upstream } from './client.ts'
import { createInMemoryBudgetStore } from './limits/in-memory-budget-store.ts'
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
