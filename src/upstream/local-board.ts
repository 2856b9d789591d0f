import type { BudgetBoard, FleetState } from '../budget.ts'

/** The board of a fleet of one: for the client used as a library, and for what runs all in one process. */
export function createLocalBoard(clock: () => number): BudgetBoard {
  let state: FleetState | undefined
  let second = { endsAtMs: 0, taken: 0 }
  return {
    exchange: async (line) => ({ lines: [line], state, nowMs: clock() }),
    async adapt(from, to) {
      if (from?.version !== state?.version) return false
      state = to
      return true
    },
    async draw(points, limit) {
      const nowMs = clock()
      if (nowMs >= second.endsAtMs) second = { endsAtMs: nowMs + 1000, taken: 0 }
      const granted = Math.max(0, Math.min(points, limit - second.taken))
      second.taken += granted
      return { granted, endsInMs: second.endsAtMs - nowMs }
    },
    leave: async () => undefined,
    close: async () => undefined,
  }
}
