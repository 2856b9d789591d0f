import { createOffsetCache } from '../../../base/time/local-time.ts'
import { DAY, MINUTE } from '../../../base/time/units.ts'

const offsetsByZone = new Map<string, (atMs: number) => number>()

/** The UTC offset of a zone at an instant, in minutes. */
export function offsetMinutesAt(zone: string, atMs: number): number {
  const offsetAt = offsetsByZone.get(zone) ?? createOffsetCache(zone)
  offsetsByZone.set(zone, offsetAt)
  return offsetAt(atMs) / MINUTE
}

/** The local date of a zone at an instant, as days since 1970-01-01. */
export function localDayNumber(zone: string, atMs: number): number {
  return Math.floor((atMs + offsetMinutesAt(zone, atMs) * MINUTE) / DAY)
}

/**
 * The instant at which the clocks of a zone show `minutes` after midnight of a day. Minutes below 0 or above 1440 fall on
 * the neighbouring days. A local time that a clock change skips becomes an instant within the hour after the change.
 */
export function instantMsAt(zone: string, day: number, minutes: number): number {
  const localMs = day * DAY + minutes * MINUTE
  const guessMs = localMs - offsetMinutesAt(zone, localMs) * MINUTE
  return localMs - offsetMinutesAt(zone, guessMs) * MINUTE
}
