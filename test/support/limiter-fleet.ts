import { onTestFinished } from 'vitest'
import type { BudgetLimits, BudgetStore, MemberState } from '../../src/pipeline/fleet/budget.ts'
import { createInMemoryBudgetStore } from '../../src/pipeline/upstream/limits/in-memory-budget-store.ts'
import { openRateLimiter, type RateLimiter } from '../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createVirtualTime } from './virtual-time.ts'

type FleetOptions = {
  readonly limits: BudgetLimits
  /** How far the store's clock is ahead of the processes' clock. */
  readonly storeAheadMs?: number
  /** Parts of the store that behave otherwise. */
  readonly changed?: (store: BudgetStore) => Partial<BudgetStore>
}

/** Rate limiters over one budget store, as processes of one fleet, in a time that only the test moves. */
export function openLimiterFleet({ limits, storeAheadMs = 0, changed = () => ({}) }: FleetOptions) {
  const time = createVirtualTime(1_000_000_000)
  const memory = createInMemoryBudgetStore(() => time.clock() + storeAheadMs)
  const members = new Map<string, MemberState>()
  const shared: BudgetStore = {
    ...memory,
    async heartbeat(mine) {
      members.set(mine.member, mine)
      return { ...(await memory.heartbeat(mine)), members: [...members.values()] }
    },
    removeMember: async (member) => void members.delete(member),
  }
  const store = { ...shared, ...changed(shared) }
  const open = (member: string): RateLimiter => {
    const limiter = openRateLimiter({ store, limits, member, clock: time.clock, sleep: time.sleep })
    onTestFinished(() => limiter.close())
    return limiter
  }
  return { ...time, members, open }
}

export const answered = { latencyMs: 1, overloaded: false, retryAfterMs: 0 }
export const overloadedFor = (retryAfterMs: number) => ({ latencyMs: 1, overloaded: true, retryAfterMs })
