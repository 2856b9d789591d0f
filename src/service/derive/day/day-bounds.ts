import { dayNumberAt, midnightMs } from '../../../time/local-days.ts'
import type { Span } from '../../../time/spans.ts'
import { MINUTE } from '../../../time/units.ts'
import type { LogsByDay } from './logs-by-day.ts'
import type { DataLog } from './parsed-log.ts'

/** A local day: its offset at the end, and the instants of its two midnights. `minutes` is its length. */
export type DayBounds = { readonly day: number; readonly offset: number; readonly span: Span; readonly minutes: number }

const shareMin = 0.1
const minutesMin = 1200
const minutesMax = 1680

/**
 * The offset of a day is the offset in force at its end, so that a day on which clocks or zones changed carries the
 * offset that the person woke up to. A day starts with the offset in which the day before ended. An offset that fewer
 * than a tenth of a day's logs have (of a scale that reports in UTC) does not count.
 */
export function dayBoundsOf(logsByDay: LogsByDay, day: number): DayBounds | null {
  const today = offsetsOn(logsByDay, day)
  const before = offsetsOn(logsByDay, day - 1)
  const offset = today.at(-1) ?? before.at(-1)
  if (offset === undefined) return null
  const opening = before.at(-1) ?? today[0] ?? offset
  const minutes = Math.min(minutesMax, Math.max(minutesMin, 1440 + opening - offset))
  const endMs = midnightMs(day + 1, offset)
  return { day, offset, minutes, span: { startMs: endMs - minutes * MINUTE, endMs } }
}

type OffsetUse = { readonly ms: number; readonly offset: number }

/** The offsets in force on a local day, in that order; each is counted by the starts and ends of logs on the day. */
function offsetsOn(logsByDay: LogsByDay, day: number): number[] {
  const uses: OffsetUse[] = []
  for (const log of logsByDay.allOn(day)) addOffsets(uses, log, day)
  for (const log of logsByDay.allOn(day - 1)) addOffsets(uses, log, day)
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

function addOffsets(uses: OffsetUse[], log: DataLog, day: number): void {
  if (dayNumberAt(log.startMs, log.startOffset) === day) uses.push({ ms: log.startMs, offset: log.startOffset })
  if (log.endMs > log.startMs && dayNumberAt(log.endMs, log.endOffset) === day) {
    uses.push({ ms: log.endMs, offset: log.endOffset })
  }
}
