import type { BudgetStore } from '../fleet/budget.ts'

/** Adds to the requests of this second, of all processes, and returns how many they are now. A negative number gives some back. */
export type CountRequests = (requests: number) => Promise<{ readonly counted: number; readonly endsInMs: number }>

/**
 * Takes permits from the count of this second's requests. The store only counts, because `limit` changes with the lane and with the
 * fleet's budget. Requests counted beyond the limit are given back.
 */
export function ratePermitsFrom(count: CountRequests): BudgetStore['acquireRatePermits'] {
  return async (wanted, limit) => {
    const { counted, endsInMs } = await count(wanted)
    const granted = Math.max(0, Math.min(wanted, Math.floor(limit) - (counted - wanted)))
    if (granted < wanted) await count(granted - wanted)
    return { granted, endsInMs }
  }
}
