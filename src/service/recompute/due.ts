import { HOUR } from '../../window.ts'
import { dayNumber, midnightAt, mondayOf, monthOf } from '../derive/local-time.ts'
import { sleepRules } from '../derive/model.ts'
import type { RecentDay } from '../store/derived-days.ts'

/** Longer than a month: a day before that has no unit which is still open. */
export const recentDaysBack = 35

/** When the passing of time alone will change what is served: a sleep day, a day, a week or a month ends. */
export function nextChangeAt(days: readonly RecentDay[], asOf: number): number | null {
  const ends = days.flatMap(({ localDay, offset, nightOffset }) => {
    const day = dayNumber(localDay)
    return [
      midnightAt(day, nightOffset ?? offset) + sleepRules.dayStartsAtHour * HOUR,
      midnightAt(day + 1, offset),
      midnightAt(mondayOf(day) + 7, offset),
      midnightAt(monthOf(day).last + 1, offset),
    ]
  })
  const coming = ends.filter((at) => at > asOf)
  return coming.length === 0 ? null : Math.min(...coming)
}
