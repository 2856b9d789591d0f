import { dayNumberFromText, midnightMs, mondayOf, monthOf } from '../../base/time/local-time.ts'
import { sleepDaySpan } from '../derive/day/day-bounds.ts'
import type { RecentDay } from '../store/stored-day-facts.ts'

/** More than a month: all units of an earlier day are over. */
export const recentDaysBack = 35

/** When the passing of time alone will change records: a sleep day, a day, a week or a month ends. Null when none will. */
export function nextChangeMs(days: readonly RecentDay[], asOfMs: number): number | null {
  const ends = days.flatMap(({ localDay, offsetMinutes, nightOffsetMinutes }) => {
    const day = dayNumberFromText(localDay)
    return [
      sleepDaySpan(day, nightOffsetMinutes ?? offsetMinutes).endMs,
      midnightMs(day + 1, offsetMinutes),
      midnightMs(mondayOf(day) + 7, offsetMinutes),
      midnightMs(monthOf(day).last + 1, offsetMinutes),
    ]
  })
  const coming = ends.filter((ms) => ms > asOfMs)
  return coming.length === 0 ? null : Math.min(...coming)
}
