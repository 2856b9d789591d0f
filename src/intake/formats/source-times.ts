import { isDay, isTime, parseInstant, parseOffset } from '../../base/time/instant.ts'
import { DAY, MINUTE, SECOND } from '../../base/time/units.ts'
import type { ReadOptions, SourceInstant } from './export-format.ts'

export const utc = (atMs: number): SourceInstant => ({ atMs, offsetMinutes: 0 })

export const later = ({ atMs, offsetMinutes }: SourceInstant, byMs: number): SourceInstant => ({
  atMs: atMs + byMs,
  offsetMinutes,
})

export type RecordTime = { readonly start: SourceInstant; readonly end: SourceInstant }

export const momentAt = <T extends SourceInstant | undefined>(at: T) => at && { start: at, end: at }

export const between = (start: SourceInstant | undefined, end: SourceInstant | undefined): RecordTime | undefined =>
  start && end && { start, end }

export const lastingFrom = <T extends SourceInstant | undefined>(start: T, lengthMs: number) =>
  start && { start, end: later(start, lengthMs) }

/**
 * A local day: to its last second, but no longer than any other day. On the day of 25 hours it ends an hour early, for a log
 * that is longer than a day counts nowhere.
 */
export const dayBetween = (start: SourceInstant, end: SourceInstant): RecordTime => ({
  start,
  end: end.atMs - start.atMs > DAY ? later(start, DAY - SECOND) : end,
})

/** The day that begins when a clock on the wall shows this. */
export const localDay = (wallMs: number | undefined, { localInstant }: ReadOptions): RecordTime | undefined =>
  wallMs === undefined ? undefined : dayBetween(localInstant(wallMs), localInstant(wallMs + DAY - SECOND))

/** The instant, or the moments since it, at which a clock on the wall shows this. */
export const localFrom = (wallMs: number | undefined, { localInstant }: ReadOptions, lengthMs = 0) =>
  lastingFrom(wallMs === undefined ? undefined : localInstant(wallMs), lengthMs)

/** The time between two texts, each with its offset. */
export const instantsIn = (start: unknown, end: unknown): RecordTime | undefined =>
  between(instantIn(start), instantIn(end))

const withOffset = /Z|[+-]\d\d:?\d\d$/

/** A time that is written with its offset; undefined for a time of the clock on the wall. */
export function instantIn(value: unknown): SourceInstant | undefined {
  if (typeof value !== 'string' || !withOffset.test(value)) return undefined
  const instant = parseInstant(value.trim().replace(' ', 'T'))
  return instant && { atMs: instant.epochMs, offsetMinutes: instant.offsetMinutes }
}

/** A time of the clock on the wall, without an offset, as the milliseconds of a clock that shows it in UTC. */
export const wallMsIn = (value: unknown): number | undefined =>
  typeof value === 'string' && !withOffset.test(value)
    ? parseInstant(value.trim().replace(' ', 'T'))?.epochMs
    : undefined

/** `UTC+02:00`, `UTC-0500`, `UTCZ` or the offset alone, as minutes. */
export const offsetMinutesIn = (value: unknown): number | undefined =>
  typeof value === 'string' && value.trim() !== ''
    ? parseOffset(value.trim().replace(/^(UTC|GMT)/, '') || 'Z')
    : undefined

/** The instant at which a clock with this offset (minutes ahead of UTC) shows this. */
export const instantAt = (wallMs: number | undefined, offsetMinutes: number | undefined): SourceInstant | undefined =>
  wallMs === undefined || offsetMinutes === undefined
    ? undefined
    : { atMs: wallMs - offsetMinutes * MINUTE, offsetMinutes }

type WallTime = { year: number; month: number; day: number; hour: number; minute: number; second: number }

/** The milliseconds of a clock that shows this in UTC; undefined for a date or a time that there is not, and before 1900. */
export function wallClockMs({ year, month, day, hour, minute, second }: WallTime): number | undefined {
  // JavaScript takes a thirteenth month for the next January, and the year 26 for 1926.
  if (!(year >= 1900 && isDay(year, month, day) && isTime(hour, minute, second))) return undefined
  return Date.UTC(year, month - 1, day, hour, minute, second)
}
