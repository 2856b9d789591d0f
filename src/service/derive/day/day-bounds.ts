import { dayNumberAt, midnightMs, minutesSinceMidnight } from '../../../base/time/local-time.ts'
import type { Span } from '../../../base/time/spans.ts'
import { HOUR } from '../../../base/time/units.ts'
import { sleepRules } from '../model/model.ts'
import type { LogsByDay } from './logs-by-day.ts'
import type { DataLog } from './parsed-log.ts'

/** A local day: its offset at the end, and the instants of its two midnights. A day ends where the next begins. */
export type DayBounds = { readonly day: number; readonly offset: number; readonly span: Span }

const shareMin = 0.1

/**
 * The offset of a day is the offset in force at its end, so that a day on which clocks or zones changed carries the
 * offset that the person woke up to. A day starts with the offset in which the day before ended: a change of clocks
 * makes 23 or 25 hours, and a journey as many as the person lived on that date.
 */
export function dayBoundsOf(logsByDay: LogsByDay, day: number): DayBounds | null {
  const before = closingOffset(logsByDay, day - 1)
  const offset = closingOffset(logsByDay, day) ?? before
  if (offset === undefined) return null
  const opening = before ?? inForceOn(logsByDay, day)[0] ?? offset
  const endMs = midnightMs(day + 1, offset)
  return { day, offset, span: { startMs: Math.min(endMs, midnightMs(day, opening)), endMs } }
}

/**
 * The part of a log's time that counts for a day. A log that starts and ends on one local date, by its own offsets,
 * belongs to that date as a whole. A log across midnight is cut where the person's own days meet.
 */
export function partOnDay(log: DataLog, span: Span, { day, span: { startMs, endMs } }: DayBounds): Span | null {
  const { first, last } = datesOf(log)
  if (day < first || day > last) return null
  const part = {
    startMs: day === first ? span.startMs : Math.max(span.startMs, startMs),
    endMs: day === last ? span.endMs : Math.min(span.endMs, endMs),
  }
  return part.startMs < part.endMs ? part : null
}

/** The local dates on which a log starts and ends, by its own offsets. An end at midnight belongs to the day before. */
function datesOf(log: DataLog): { first: number; last: number } {
  const first = dayNumberAt(log.startMs, log.startOffset)
  return { first, last: Math.max(first, dayNumberAt(Math.max(log.startMs, log.endMs - 1), log.endOffset)) }
}

/**
 * The offset in force at the end of a day. A change of clocks an hour before midnight leaves few logs in the new offset:
 * it counts when the last log of the day has it and the next day begins with it.
 */
function closingOffset(logsByDay: LogsByDay, day: number): number | undefined {
  const { inForce, latest } = offsetsOn(logsByDay, day)
  return latest === inForceOn(logsByDay, day + 1)[0] ? latest : inForce.at(-1)
}

/** The offsets in force on a local day, in that order, and the offset of the last start or end of a log on it. */
type Offsets = { readonly inForce: readonly number[]; readonly latest: number | undefined }

/** Each day is asked for by its two neighbours too. */
const computed = new WeakMap<LogsByDay, Map<number, Offsets>>()

function offsetsOn(logsByDay: LogsByDay, day: number): Offsets {
  const byDay = computed.get(logsByDay) ?? new Map<number, Offsets>()
  computed.set(logsByDay, byDay)
  const known = byDay.get(day)
  if (known) return known
  const offsets = offsetsAmong([logsByDay.allOn(day), logsByDay.allOn(day - 1)], day)
  byDay.set(day, offsets)
  return offsets
}

const inForceOn = (logsByDay: LogsByDay, day: number) => offsetsOn(logsByDay, day).inForce

/**
 * From the starts and the ends of logs, as far as they lie on the day. An offset that fewer than a tenth of them have (of
 * a scale that reports in UTC) does not count.
 */
function offsetsAmong(logs: readonly (readonly DataLog[])[], day: number): Offsets {
  const uses = new Map<number, { count: number; lastMs: number }>()
  let [all, latestMs, latest] = [0, Number.NEGATIVE_INFINITY, undefined as number | undefined]
  const note = (ms: number, offset: number) => {
    if (dayNumberAt(ms, offset) !== day) return
    all += 1
    // At one instant the larger offset counts, as below: the logs come in any order.
    if (ms > latestMs || (ms === latestMs && offset > (latest ?? offset))) [latestMs, latest] = [ms, offset]
    const use = uses.get(offset)
    if (!use) uses.set(offset, { count: 1, lastMs: ms })
    else {
      use.count += 1
      use.lastMs = Math.max(use.lastMs, ms)
    }
  }
  for (const { startMs, endMs, startOffset, endOffset } of logs.flat()) {
    note(startMs, startOffset)
    if (endMs > startMs) note(endMs - 1, endOffset)
  }
  const inForce = [...uses]
    .filter(([, { count }]) => count >= all * shareMin)
    .sort(([a, { lastMs: aMs }], [b, { lastMs: bMs }]) => aMs - bMs || a - b)
    .map(([offset]) => offset)
  return { inForce, latest }
}

/** The sleep day that an instant belongs to: from 18:00 of one local day to 18:00 of the next, named by the next. */
export function sleepDayOf(ms: number, offset: number): number {
  return dayNumberAt(ms, offset) + (minutesSinceMidnight(ms, offset) >= sleepRules.dayStartsAtHour * 60 ? 1 : 0)
}

export function sleepDaySpan(day: number, offset: number): Span {
  const endMs = midnightMs(day, offset) + sleepRules.dayStartsAtHour * HOUR
  return { startMs: midnightMs(day - 1, offset) + sleepRules.dayStartsAtHour * HOUR, endMs }
}
