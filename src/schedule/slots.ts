import { HOUR, MINUTE } from '../window.ts'

/** When a cron line asks for something, in the time of one zone. */
export type Timetable = {
  /** Whether the line matches a time of the wall clock, given as if it were UTC. */
  readonly matches: (wall: Date) => boolean
  /** The line leaves the hour open, with a star: it follows the passing of time, whatever the wall clock does. */
  readonly everyHour: boolean
  /** How far the zone's wall clock is ahead of UTC at an instant, in milliseconds. */
  readonly offsetMs: (atMs: number) => number
}

/** Clocks are never put back by more than this. */
const PUT_BACK_MAX_MS = 3 * HOUR

/**
 * The newest slot after `sinceMs` and at or before `nowMs`. Cron lines have whole minutes, so it is found by looking at
 * each minute.
 */
export function lastSlot(timetable: Timetable, sinceMs: number, nowMs: number): Date | undefined {
  for (let at = Math.floor(nowMs / MINUTE) * MINUTE; at > sinceMs; at -= MINUTE) {
    if (isSlot(timetable, at)) return new Date(at)
  }
  return undefined
}

/**
 * A time of day that the clocks skip happens at the first minute after the gap; one that they pass twice happens at
 * the first. So a nightly is neither missed nor doubled when they change.
 */
function isSlot({ matches, everyHour, offsetMs }: Timetable, at: number): boolean {
  const offset = offsetMs(at)
  const wall = at + offset
  if (everyHour) return matches(new Date(wall))
  const before = offsetMs(at - MINUTE)
  if (offset > before) {
    for (let skipped = at + before; skipped <= wall; skipped += MINUTE) if (matches(new Date(skipped))) return true
    return false
  }
  const putBack = offsetMs(at - PUT_BACK_MAX_MS) - offset
  const isSecond = putBack > 0 && offsetMs(at - putBack) === offset + putBack
  return !isSecond && matches(new Date(wall))
}

export const leavesHourOpen = (cronLine: string): boolean => (cronLine.trim().split(/\s+/).at(-4) ?? '').startsWith('*')
