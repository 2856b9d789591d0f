/** A clock that a test may move. It runs at the ordinary pace from the time to which it was moved. */
export type MovableClock = ReturnType<typeof createMovableClock>

export function createMovableClock(machineMs: () => number) {
  let aheadMs = 0
  return {
    /** Milliseconds since 1970. */
    nowMs: () => machineMs() + aheadMs,
    /** Forwards or, below 0, backwards. */
    advance: (byMs: number) => {
      aheadMs += byMs
    },
    moveTo: (atMs: number) => {
      aheadMs = atMs - machineMs()
    },
    /** Sets the clock back to the machine's time. */
    reset: () => {
      aheadMs = 0
    },
    /** How far the clock is ahead of the machine's time. */
    aheadMs: () => aheadMs,
  }
}
