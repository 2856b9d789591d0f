import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { BudgetBoard } from '../budget.ts'

/**
 * Draws from a shared count of this second's requests. `limit` changes with the fleet's state and with the lane, so the
 * count alone is the library's and the comparison ours; what was counted beyond the limit is given back.
 */
export function drawFrom(rate: Pick<RateLimiterAbstract, 'penalty' | 'reward'>): BudgetBoard['draw'] {
  return async (points, limit) => {
    const { consumedPoints, msBeforeNext } = await rate.penalty('requests', points)
    const granted = Math.max(0, Math.min(points, Math.floor(limit) - (consumedPoints - points)))
    if (granted < points) await rate.reward('requests', points - granted)
    return { granted, endsInMs: Math.max(0, msBeforeNext) }
  }
}
