import type { Lane } from './budget.ts'

/** Why no job of a lane gets on. Instants are ISO texts: they are shown, and order nothing. */
export type LaneTrouble = {
  readonly lane: Lane
  readonly reason: string
  /** When the first attempt failed after which none succeeded. */
  readonly sinceAt: string
  /** When the lane is tried again; null when its jobs wait one by one. */
  readonly untilAt: string | null
  /** The attempts that failed since. */
  readonly attempts: number
}

export type LaneTroubles = ReturnType<typeof createLaneTroubles>

/** Remembers, per lane, what went wrong since the last success. The first success ends a trouble. */
export function createLaneTroubles(now: () => number) {
  const troubles = new Map<Lane, LaneTrouble>()
  const textOf = (atMs: number) => new Date(atMs).toISOString()
  const toldAgain = (lane: Lane, reason: string): LaneTrouble => {
    const before = troubles.get(lane) ?? { lane, reason, sinceAt: textOf(now()), untilAt: null, attempts: 0 }
    return { ...before, reason }
  }
  return {
    failed({ lane, reason }: { readonly lane: Lane; readonly reason: string }) {
      const trouble = toldAgain(lane, reason)
      troubles.set(lane, { ...trouble, attempts: trouble.attempts + 1 })
    },
    paused({ lane, reason, pauseMs }: { readonly lane: Lane; readonly reason: string; readonly pauseMs: number }) {
      troubles.set(lane, { ...toldAgain(lane, reason), untilAt: textOf(now() + pauseMs) })
    },
    succeeded(lane: Lane) {
      troubles.delete(lane)
    },
    list: () => [...troubles.values()],
  }
}
