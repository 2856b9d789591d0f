/** A clock that a test may move. It runs at the ordinary pace from the time to which it was moved. */
export type MovableClock = {
  /** Milliseconds since 1970. */
  nowMs(): number
  /** Forwards or, below 0, backwards. */
  advance(byMs: number): void
  moveTo(atMs: number): void
  /** Sets the clock back to the machine's time. */
  reset(): void
  /** How far the clock is ahead of the machine's time. */
  aheadMs(): number
}

export function createMovableClock(machineMs: () => number): MovableClock {
  let aheadMs = 0
  return {
    nowMs: () => machineMs() + aheadMs,
    advance: (byMs) => {
      aheadMs += byMs
    },
    moveTo: (atMs) => {
      aheadMs = atMs - machineMs()
    },
    reset: () => {
      aheadMs = 0
    },
    aheadMs: () => aheadMs,
  }
}
