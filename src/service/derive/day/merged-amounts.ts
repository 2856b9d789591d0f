import { overlaps, type Span, subtract, totalMs, union } from '../../../base/time/spans.ts'
import { sweepLine } from '../../../base/time/sweep-line.ts'
import { SECOND } from '../../../base/time/units.ts'
import { type DayBounds, partOnDay } from './day-bounds.ts'
import type { DayInputs } from './logs-by-day.ts'
import { type DataLog, type Lineage, spanOfLog } from './parsed-log.ts'

/** The part of a log's value that counts for a span of time. */
export type Amount = Span & { readonly log: DataLog; readonly value: number }

/** A log, or the rest of a parent log that its children leave. An instant lasts a second, so that it can be shared out. */
type Piece = Span & { readonly log: DataLog; readonly value: number }

/**
 * The amounts of a summed kind (steps, floors, energy) on one local day, piece by piece. Where logs overlap, the best
 * ranked log counts for that moment and the other logs do not count for that moment; an interval across midnight is
 * shared out by time. A log with the value 0 is left out: a watch on the table does not undo the steps of the phone.
 */
export function amountsOn(inputs: DayInputs & { readonly bounds: DayBounds }, dataType: string): Amount[] {
  const { logsByDay, day, bounds, compareLogs, lineage } = inputs
  const near = logsByDay.around(day, dataType).filter((log) => log.value > 0)
  const own = near.filter((log) => partOnDay(log, spanOf(log), bounds))
  if (own.length === 0) return []
  const covered = {
    startMs: Math.min(...own.map((log) => log.startMs)),
    endMs: Math.max(...own.map((log) => log.endMs + SECOND)),
  }
  const pieces = withoutChildren(near.filter((log) => overlaps(spanOf(log), covered)))
  const best = sweepLine(pieces, (a, b) => compareLogs(a.log, b.log) || a.startMs - b.startMs)
  const amounts = best.flatMap(({ startMs, endMs, of }): Amount[] => {
    const part = partOnDay(of.log, { startMs, endMs }, bounds)
    if (!part) return []
    const share = (part.endMs - part.startMs) / (of.endMs - of.startMs)
    return [{ ...part, log: of.log, value: of.value * share }]
  })
  if (lineage) reportLineage(lineage, dataType, { logs: own, amounts })
  return amounts
}

const spanOf = (log: DataLog) => spanOfLog(log, SECOND)

/** A parent log counts for the rest: its value less the sum of its children, spread over the time they leave free. */
function withoutChildren(logs: readonly DataLog[]): Piece[] {
  const children = Map.groupBy(
    logs.filter(({ parentId }) => parentId !== null),
    ({ parentId }) => parentId,
  )
  return logs.flatMap((log) => {
    const own = children.get(log.id)
    const whole = spanOf(log)
    if (!own) return [{ ...whole, log, value: log.value }]
    const left = log.value - own.reduce((sum, child) => sum + child.value, 0)
    const free = subtract([whole], union(own.map(spanOf)))
    const freeMs = totalMs(free)
    if (left <= 0) return []
    return free.map((span) => ({ ...span, log, value: (left * (span.endMs - span.startMs)) / freeMs }))
  })
}

type Resolved = { logs: readonly DataLog[]; amounts: readonly Amount[] }

function reportLineage(lineage: Lineage, dataType: string, { logs, amounts }: Resolved): void {
  const counted = new Map<DataLog, number>()
  for (const { log, value } of amounts) counted.set(log, (counted.get(log) ?? 0) + value)
  for (const log of logs) {
    const amount = counted.get(log)
    if (amount !== undefined) lineage.used(log, dataType, amount)
    else lineage.leftOut(log, dataType, 'a better ranked log, or its own children, cover the same time')
  }
}
