import type { BudgetStore, FleetBudget } from '../../fleet/budget.ts'

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
