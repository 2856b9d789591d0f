import { MINUTE } from '../window.ts'

/** What a cron line says about one instant. node-cron's tasks have it. */
export type Matcher = { match(at: Date): boolean }

/**
 * The newest slot at or before `nowMs`, looked for no further back than `backMs`. Cron lines have whole minutes, so it is
 * found by looking at each minute, which also makes it right across changes of the clocks.
 */
export function lastSlotBefore(matcher: Matcher, nowMs: number, backMs: number): Date | undefined {
  const newest = Math.floor(nowMs / MINUTE) * MINUTE
  for (let at = newest; at >= nowMs - backMs; at -= MINUTE) {
    const slot = new Date(at)
    if (matcher.match(slot)) return slot
  }
  return undefined
}
