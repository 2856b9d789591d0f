import { lowerBound } from '../../../base/time/lower-bound.ts'
import { overlaps, type Span, subtract, totalMs } from '../../../base/time/spans.ts'
import { sweepLine } from '../../../base/time/sweep-line.ts'
import { HOUR, SECOND } from '../../../base/time/units.ts'
import { sum } from '../model/statistics.ts'
import { type DayBounds, partOnDay } from './day-bounds.ts'
import type { LogComparator } from './log-ranking.ts'
import type { DayInputs } from './logs-by-day.ts'
import { type DataLog, type Lineage, spanOfLog } from './parsed-log.ts'

/** The part of a log's value that counts for a span of time. */
export type Amount = Span & { readonly log: DataLog; readonly value: number }

/** A stretch of time that overlaps no other, and the logs that count for it. */
type Stretch = Span & { readonly source: string; readonly counted: { readonly log: DataLog; readonly value: number }[] }

/**
 * The amounts of a summed kind (steps, floors, energy) on one local day, piece by piece. Where logs overlap, the best
 * ranked log counts for that moment and the other logs do not count for that moment; an interval across midnight is
 * shared out by time. A total counts for what the finer logs of its time, of all sources, do not count already: an amount
 * that is sent as a total and in parts counts once. A log with the value 0 is left out: a watch on the table does not undo
 * the steps of the phone.
 */
export function amountsOn(inputs: DayInputs & { readonly bounds: DayBounds }, dataType: string): Amount[] {
  const { logsByDay, day, bounds, compareLogs, lineage } = inputs
  const near = logsByDay.around(day, dataType).filter((log) => log.value > 0)
  const logsOfDay = near.filter((log) => partOnDay(log, spanOf(log), bounds))
  const covered = {
    startMs: logsOfDay.reduce((first, { startMs }) => Math.min(first, startMs), Number.POSITIVE_INFINITY),
    endMs: logsOfDay.reduce((last, { endMs }) => Math.max(last, endMs + SECOND), Number.NEGATIVE_INFINITY),
  }
  const stretches = mergeLogs(
    near.filter((log) => overlaps(spanOf(log), covered)),
    compareLogs,
  )
  const amounts = stretches.flatMap(({ startMs, endMs, counted }) =>
    counted.flatMap(({ log, value }): Amount[] => {
      const part = partOnDay(log, { startMs, endMs }, bounds)
      return part ? [{ ...part, log, value: (value * (part.endMs - part.startMs)) / (endMs - startMs) }] : []
    }),
  )
  if (lineage) reportLineage(lineage, dataType, { logs: logsOfDay, amounts })
  return amounts
}

/** The error of a sum of shares. */
const RESIDUE = 1e-6

/** A call with as many arguments as a day may have logs fails. */
const ARGUMENTS_MAX = 1000

/** An instant lasts a second, so that it can be shared out. */
const spanOf = (log: DataLog) => spanOfLog(log, SECOND)

function mergeLogs(logs: readonly DataLog[], compareLogs: LogComparator): Stretch[] {
  const children = Map.groupBy(logs, ({ parentId }) => parentId)
  const bestFirst = logs.toSorted(compareLogs)
  const containers = logsWithFinerInside(bestFirst)
  const isTotal = (log: DataLog) =>
    log.periodicity !== null || lengthClassOf(log) > 0 || containers.has(log) || children.has(log.id)
  const [totals, details] = [bestFirst.filter(isTotal), bestFirst.filter((log) => !isTotal(log))]
  const pieces = details.map((log) => ({ ...spanOf(log), log }))
  const best = sweepLine(pieces, (a, b) => compareLogs(a.log, b.log))
  const stretches = best.map(({ startMs, endMs, of: { log, ...whole } }): Stretch => {
    const value = (log.value * (endMs - startMs)) / (whole.endMs - whole.startMs)
    return { startMs, endMs, source: log.source, counted: [{ log, value }] }
  })
  for (const total of inOrderOfFilling(totals))
    addTotal(stretches, total, sum((children.get(total.id) ?? []).map(({ value }) => value)))
  return stretches
}

/**
 * The part of a total that its time and its children do not count already is spread over the free rest of that time.
 * Without a free rest it comes on top of what is counted, unless another source has counted there.
 */
function addTotal(stretches: Stretch[], total: DataLog, childrenValue: number): void {
  const whole = spanOf(total)
  const from = lowerBound(stretches.length, (index) => (stretches[index]?.endMs ?? 0) <= whole.startMs)
  const to = lowerBound(stretches.length, (index) => (stretches[index]?.startMs ?? 0) < whole.endMs)
  const region = cutAt(cutAt(stretches.slice(from, to), whole.startMs), whole.endMs)
  const isInside = ({ startMs, endMs }: Stretch) => startMs >= whole.startMs && endMs <= whole.endMs
  const inside = region.filter(isInside)
  const counted = sum(inside.map(amountIn))
  const left = total.value - Math.max(counted, childrenValue)
  if (left < RESIDUE) return
  const free = subtract([whole], inside)
  if (free.length === 0 && inside.some(({ source }) => source !== total.source)) return
  const freeMs = totalMs(free)
  const filled = free.map((span): Stretch => {
    const value = (left * (span.endMs - span.startMs)) / freeMs
    return { ...span, source: total.source, counted: [{ log: total, value }] }
  })
  const raise = (stretch: Stretch): Stretch =>
    isInside(stretch)
      ? { ...stretch, counted: [...stretch.counted, { log: total, value: (left * amountIn(stretch)) / counted }] }
      : stretch
  const changed = free.length > 0 ? [...region, ...filled].sort((a, b) => a.startMs - b.startMs) : region.map(raise)
  for (let place = 0; place < changed.length; place += ARGUMENTS_MAX) {
    const removed = place === 0 ? to - from : 0
    stretches.splice(from + place, removed, ...changed.slice(place, place + ARGUMENTS_MAX))
  }
}

const amountIn = ({ counted }: Stretch) => sum(counted.map(({ value }) => value))

/** The stretches, with the one that an instant lies in cut there. */
function cutAt(stretches: readonly Stretch[], atMs: number): Stretch[] {
  return stretches.flatMap((stretch) => {
    if (stretch.startMs >= atMs || stretch.endMs <= atMs) return stretch
    const share = (atMs - stretch.startMs) / (stretch.endMs - stretch.startMs)
    const shareOut = (part: number) => stretch.counted.map(({ log, value }) => ({ log, value: value * part }))
    return [
      { ...stretch, endMs: atMs, counted: shareOut(share) },
      { ...stretch, startMs: atMs, counted: shareOut(1 - share) },
    ]
  })
}

/** A log longer than an hour says how much, not when: any finer log says more about its time. */
function lengthClassOf({ startMs, endMs }: DataLog): number {
  const hours = (endMs - startMs) / HOUR
  return hours <= 1 ? 0 : hours <= 12 ? 1 : 2
}

/** Finer totals first. Among totals of about one length the source with the best log first, and in it the shorter. */
function inOrderOfFilling(bestFirst: readonly DataLog[]): DataLog[] {
  const sources = [...new Set(bestFirst.map(({ source }) => source))]
  const placeOf = new Map(sources.map((source, place) => [source, place]))
  return bestFirst.toSorted(
    (a, b) =>
      lengthClassOf(a) - lengthClassOf(b) ||
      (placeOf.get(a.source) ?? 0) - (placeOf.get(b.source) ?? 0) ||
      a.endMs - a.startMs - (b.endMs - b.startMs),
  )
}

/** The logs within whose time a finer and better ranked log lies, of any source. */
function logsWithFinerInside(bestFirst: readonly DataLog[]): Set<DataLog> {
  const containers = new Set<DataLog>()
  // No span lies within another, so that their starts and their ends are both in order.
  const innermost: Span[] = []
  for (const log of bestFirst) {
    const span = spanOf(log)
    const next = lowerBound(innermost.length, (index) => (innermost[index]?.startMs ?? 0) < span.startMs)
    const inside = innermost[next]
    if (inside && inside.endMs <= span.endMs) {
      if (inside.startMs > span.startMs || inside.endMs < span.endMs) containers.add(log)
      continue
    }
    const first = lowerBound(innermost.length, (index) => (innermost[index]?.endMs ?? 0) < span.endMs)
    innermost.splice(first, next - first, span)
  }
  return containers
}

type Resolved = { logs: readonly DataLog[]; amounts: readonly Amount[] }

function reportLineage(lineage: Lineage, dataType: string, { logs, amounts }: Resolved): void {
  const counted = new Map<DataLog, number>()
  for (const { log, value } of amounts) counted.set(log, (counted.get(log) ?? 0) + value)
  for (const log of logs) {
    const amount = counted.get(log)
    if (amount !== undefined) lineage.used(log, dataType, amount)
    else lineage.leftOut(log, dataType, 'better ranked or finer logs count for the same time')
  }
}
