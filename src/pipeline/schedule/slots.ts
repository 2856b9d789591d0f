import { DAY, HOUR, MINUTE } from '../../base/time/units.ts'

/** A cron line in the time of one zone. */
export type ZonedCron = {
  /** Whether the line matches a time of the wall clock, given as if it were UTC. */
  readonly matches: (wall: Date) => boolean
  /** The hour of the line is a star: its slots follow elapsed time, and ignore changes of the wall clock. */
  readonly hourIsWildcard: boolean
  /** How far the zone's wall clock is ahead of UTC at an instant, in milliseconds. */
  readonly offsetMs: (atMs: number) => number
}

/** No zone puts its clocks back by more than this. */
const CLOCK_SET_BACK_MAX_MS = 3 * HOUR

/** A slot that is this late counts as missed. */
export const LATE_MS = 2 * MINUTE

/** Further back nobody looks for missed slots. */
export const LOOK_BACK_MAX_MS = 7 * DAY

/** The slots after `sinceMs` and before `untilMs`, oldest first, of the last seven days. */
export function slotsBetween(timetable: ZonedCron, sinceMs: number, untilMs: number): Date[] {
  const slots: Date[] = []
  const fromMs = Math.floor(Math.max(sinceMs, untilMs - LOOK_BACK_MAX_MS) / MINUTE) * MINUTE + MINUTE
  for (let atMs = fromMs; atMs < untilMs; atMs += MINUTE) if (isSlot(timetable, atMs)) slots.push(new Date(atMs))
  return slots
}

/** The first slot after `sinceMs` and before `untilMs`. */
export function firstSlotAfter(timetable: ZonedCron, sinceMs: number, untilMs: number): Date | undefined {
  const fromMs = Math.floor(sinceMs / MINUTE) * MINUTE + MINUTE
  for (let atMs = fromMs; atMs < untilMs; atMs += MINUTE) if (isSlot(timetable, atMs)) return new Date(atMs)
  return undefined
}

/** The newest slot after `sinceMs` and at or before `nowMs`. Cron lines have whole minutes, so each minute is tested. */
export function newestSlotSince(timetable: ZonedCron, sinceMs: number, nowMs: number): Date | undefined {
  for (let atMs = Math.floor(nowMs / MINUTE) * MINUTE; atMs > sinceMs; atMs -= MINUTE) {
    if (isSlot(timetable, atMs)) return new Date(atMs)
  }
  return undefined
}

/**
 * A time of day that the clocks skip is a slot at the first minute after the gap; a time that the clocks pass twice is a
 * slot at the first pass. So a nightly is neither missed nor doubled when the clocks change.
 */
function isSlot({ matches, hourIsWildcard, offsetMs }: ZonedCron, atMs: number): boolean {
  const nowOffsetMs = offsetMs(atMs)
  const wallMs = atMs + nowOffsetMs
  if (hourIsWildcard) return matches(new Date(wallMs))
  const formerOffsetMs = offsetMs(atMs - MINUTE)
  if (nowOffsetMs > formerOffsetMs) {
    for (let skippedMs = atMs + formerOffsetMs; skippedMs <= wallMs; skippedMs += MINUTE)
      if (matches(new Date(skippedMs))) return true
    return false
  }
  const setBackMs = offsetMs(atMs - CLOCK_SET_BACK_MAX_MS) - nowOffsetMs
  const isSecondPass = setBackMs > 0 && offsetMs(atMs - setBackMs) === nowOffsetMs + setBackMs
  return !isSecondPass && matches(new Date(wallMs))
}

export const hasWildcardHour = (cronLine: string): boolean =>
  (cronLine.trim().split(/\s+/).at(-4) ?? '').startsWith('*')
