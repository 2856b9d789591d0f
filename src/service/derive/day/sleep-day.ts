import { dayNumberAt, midnightMs, minutesSinceMidnight } from '../../../base/time/local-days.ts'
import type { Span } from '../../../base/time/spans.ts'
import { HOUR } from '../../../base/time/units.ts'
import { sleepRules } from '../model/model.ts'

/** The sleep day that an instant belongs to: from 18:00 of one local day to 18:00 of the next, named by the next. */
export function sleepDayOf(ms: number, offset: number): number {
  return dayNumberAt(ms, offset) + (minutesSinceMidnight(ms, offset) >= sleepRules.dayStartsAtHour * 60 ? 1 : 0)
}

export function sleepDaySpan(day: number, offset: number): Span {
  const endMs = midnightMs(day, offset) + sleepRules.dayStartsAtHour * HOUR
  return { startMs: midnightMs(day - 1, offset) + sleepRules.dayStartsAtHour * HOUR, endMs }
}
