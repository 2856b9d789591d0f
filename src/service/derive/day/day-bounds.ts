import { dayNumberAt, midnightMs } from '../../../time/local-days.ts'
import type { Span } from '../../../time/spans.ts'
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
  const closing = inForceOn(logsByDay, day).at(-1)
  const latest = usesOn(logsByDay, day).reduce<OffsetUse | null>(
    (last, use) => (last && last.ms >= use.ms ? last : use),
    null,
  )
  return latest && latest.offset === inForceOn(logsByDay, day + 1)[0] ? latest.offset : closing
}

type OffsetUse = { readonly ms: number; readonly offset: number }
type Offsets = { readonly uses: readonly OffsetUse[]; readonly inForce: readonly number[] }

/** Each day is asked for by its two neighbours too. */
const computed = new WeakMap<LogsByDay, Map<number, Offsets>>()

function offsetsOn(logsByDay: LogsByDay, day: number): Offsets {
  const byDay = computed.get(logsByDay) ?? new Map<number, Offsets>()
  computed.set(logsByDay, byDay)
  const known = byDay.get(day)
  if (known) return known
  const uses = [...logsByDay.allOn(day), ...logsByDay.allOn(day - 1)].flatMap((log) => offsetUses(log, day))
  const offsets = { uses, inForce: inForceAmong(uses) }
  byDay.set(day, offsets)
  return offsets
}

const usesOn = (logsByDay: LogsByDay, day: number) => offsetsOn(logsByDay, day).uses

/** The offsets in force on a local day, in that order. */
const inForceOn = (logsByDay: LogsByDay, day: number) => offsetsOn(logsByDay, day).inForce

/** An offset that fewer than a tenth of a day's logs have (of a scale that reports in UTC) does not count. */
function inForceAmong(uses: readonly OffsetUse[]): number[] {
  const counts = new Map<number, { count: number; lastMs: number }>()
  for (const { ms, offset } of uses) {
    const known = counts.get(offset)
    counts.set(offset, { count: (known?.count ?? 0) + 1, lastMs: Math.max(known?.lastMs ?? ms, ms) })
  }
  return [...counts]
    .filter(([, { count }]) => count >= uses.length * shareMin)
    .sort(([a, { lastMs: aMs }], [b, { lastMs: bMs }]) => aMs - bMs || a - b)
    .map(([offset]) => offset)
}

/** The start and the end of a log, as far as they lie on the day. */
function offsetUses(log: DataLog, day: number): OffsetUse[] {
  const uses: OffsetUse[] = []
  const { startMs, endMs, startOffset, endOffset } = log
  if (dayNumberAt(startMs, startOffset) === day) uses.push({ ms: startMs, offset: startOffset })
  if (endMs > startMs && dayNumberAt(endMs - 1, endOffset) === day) uses.push({ ms: endMs - 1, offset: endOffset })
  return uses
}
