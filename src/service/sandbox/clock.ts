/** Time that a test may move. It runs at the ordinary pace from wherever it was put, and says so to everything that asks. */
export type MovableClock = {
  /** Milliseconds since 1970. */
  now(): number
  /** Forwards or, below 0, backwards. */
  advance(byMs: number): void
  moveTo(atMs: number): void
  /** Back to the machine's own time. */
  reset(): void
  /** How far ahead of the machine's own time it is. */
  aheadMs(): number
}

export function createClock(machine: () => number): MovableClock {
  let ahead = 0
  return {
    now: () => machine() + ahead,
    advance: (byMs) => {
      ahead += byMs
    },
    moveTo: (atMs) => {
      ahead = atMs - machine()
    },
    reset: () => {
      ahead = 0
    },
    aheadMs: () => ahead,
  }
}
