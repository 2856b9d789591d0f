import { MINUTE } from '../../window.ts'
import { dayAt, midnightAt } from './local-time.ts'
import type { Log } from './log.ts'
import type { Shelf } from './shelf.ts'
import type { Span } from './spans.ts'

/** A local day as it was lived: its offset at the end, and the instants of its two midnights. */
export type DayClock = { readonly day: number; readonly offset: number; readonly span: Span; readonly minutes: number }

const shareMin = 0.1
const minutesShortest = 1200
const minutesLongest = 1680

/**
 * The day's offset is the one in force at its end, so that a day on which clocks or zones changed carries the one the
 * person woke up to. It opens with the offset the day before ended in. Offsets of fewer than a tenth of a day's logs
 * (a scale that reports in UTC) do not count.
 */
export function dayClock(shelf: Shelf, day: number): DayClock | null {
  const today = offsetsOf(shelf, day)
  const before = offsetsOf(shelf, day - 1)
  const offset = today.at(-1) ?? before.at(-1)
  if (offset === undefined) return null
  const opening = before.at(-1) ?? today[0] ?? offset
  const minutes = Math.min(minutesLongest, Math.max(minutesShortest, 1440 + opening - offset))
  const endAt = midnightAt(day + 1, offset)
  return { day, offset, minutes, span: { startAt: endAt - minutes * MINUTE, endAt } }
}

/** Offsets worn on a local day in the order they were worn, each counted by the starts and ends of logs on it. */
function offsetsOf(shelf: Shelf, day: number): number[] {
  const marks: { at: number; offset: number }[] = []
  for (const log of shelf.allOn(day)) addMarks(marks, log, day)
  for (const log of shelf.allOn(day - 1)) addMarks(marks, log, day)
  const counts = new Map<number, { count: number; lastAt: number }>()
  for (const { at, offset } of marks) {
    const known = counts.get(offset)
    counts.set(offset, { count: (known?.count ?? 0) + 1, lastAt: Math.max(known?.lastAt ?? at, at) })
  }
  return [...counts]
    .filter(([, { count }]) => count >= marks.length * shareMin)
    .sort(([a, { lastAt: aAt }], [b, { lastAt: bAt }]) => aAt - bAt || a - b)
    .map(([offset]) => offset)
}

function addMarks(marks: { at: number; offset: number }[], log: Log, day: number): void {
  if (dayAt(log.startAt, log.startOffset) === day) marks.push({ at: log.startAt, offset: log.startOffset })
  if (log.endAt > log.startAt && dayAt(log.endAt, log.endOffset) === day) {
    marks.push({ at: log.endAt, offset: log.endOffset })
  }
}
