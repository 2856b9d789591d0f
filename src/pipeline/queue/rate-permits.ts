import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { BudgetStore } from '../fleet/budget.ts'

/**
 * Takes permits from a shared count of this second's requests. `limit` changes with the lane and with the fleet's budget,
 * so the library only counts, and the comparison with the limit is ours. Requests counted beyond the limit are given back.
 */
export function ratePermitsFrom(
  rate: Pick<RateLimiterAbstract, 'penalty' | 'reward'>,
): BudgetStore['acquireRatePermits'] {
  return async (wanted, limit) => {
    const { consumedPoints, msBeforeNext } = await rate.penalty('requests', wanted)
    const granted = Math.max(0, Math.min(wanted, Math.floor(limit) - (consumedPoints - wanted)))
    if (granted < wanted) await rate.reward('requests', wanted - granted)
    return { granted, endsInMs: Math.max(0, msBeforeNext) }
  }
}
