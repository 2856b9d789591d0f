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
 * shared out by time. A total counts for what the finer logs of its time do not count already, so a source that sends
 * both counts once. A log with the value 0 is left out: a watch on the table does not undo the steps of the phone.
 */
export function amountsOn(inputs: DayInputs & { readonly bounds: DayBounds }, dataType: string): Amount[] {
  const { logsByDay, day, bounds, compareLogs, lineage } = inputs
  const near = logsByDay.around(day, dataType).filter((log) => log.value > 0)
  const logsOfDay = near.filter((log) => partOnDay(log, spanOf(log), bounds))
  if (logsOfDay.length === 0) return []
  const covered = {
    startMs: Math.min(...logsOfDay.map((log) => log.startMs)),
    endMs: Math.max(...logsOfDay.map((log) => log.endMs + SECOND)),
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

/** An instant lasts a second, so that it can be shared out. */
const spanOf = (log: DataLog) => spanOfLog(log, SECOND)

function mergeLogs(logs: readonly DataLog[], compareLogs: LogComparator): Stretch[] {
  const children = Map.groupBy(logs, ({ parentId }) => parentId)
  const containers = logsWithFinerInside(logs)
  const isTotal = (log: DataLog) =>
    log.periodicity !== null || lengthClassOf(log) > 0 || containers.has(log) || children.has(log.id)
  const [totals, details] = [logs.filter(isTotal), logs.filter((log) => !isTotal(log))]
  const pieces = details.map((log) => ({ ...spanOf(log), log }))
  const best = sweepLine(pieces, (a, b) => compareLogs(a.log, b.log) || a.startMs - b.startMs)
  const stretches = best.map(({ startMs, endMs, of: { log, ...whole } }): Stretch => {
    const value = (log.value * (endMs - startMs)) / (whole.endMs - whole.startMs)
    return { startMs, endMs, source: log.source, counted: [{ log, value }] }
  })
  return inOrderOfFilling(totals, compareLogs).reduce(
    (filled, total) => addTotal(filled, total, sum((children.get(total.id) ?? []).map(({ value }) => value))),
    stretches,
  )
}

/**
 * The part of a total that its time and its children do not count already is spread over the free rest of that time.
 * Without a free rest it comes on top of what is counted, unless another source has counted there.
 */
function addTotal(stretches: Stretch[], total: DataLog, childrenValue: number): Stretch[] {
  const whole = spanOf(total)
  const from = lowerBound(stretches.length, (index) => (stretches[index]?.endMs ?? 0) <= whole.startMs)
  const to = lowerBound(stretches.length, (index) => (stretches[index]?.startMs ?? 0) < whole.endMs)
  const region = cutAt(cutAt(stretches.slice(from, to), whole.startMs), whole.endMs)
  const isInside = ({ startMs, endMs }: Stretch) => startMs >= whole.startMs && endMs <= whole.endMs
  const inside = region.filter(isInside)
  const counted = sum(inside.map(amountIn))
  const left = total.value - Math.max(counted, childrenValue)
  if (left < RESIDUE) return stretches
  const free = subtract([whole], inside)
  if (free.length === 0 && inside.some(({ source }) => source !== total.source)) return stretches
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
  return stretches.slice(0, from).concat(changed, stretches.slice(to))
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
function inOrderOfFilling(totals: readonly DataLog[], compareLogs: LogComparator): DataLog[] {
  const sources = [...new Set([...totals].sort(compareLogs).map(({ source }) => source))]
  const placeOf = new Map(sources.map((source, place) => [source, place]))
  return [...totals].sort(
    (a, b) =>
      lengthClassOf(a) - lengthClassOf(b) ||
      (placeOf.get(a.source) ?? 0) - (placeOf.get(b.source) ?? 0) ||
      a.endMs - a.startMs - (b.endMs - b.startMs) ||
      compareLogs(a, b),
  )
}

/** The logs within whose time a shorter log of the same device and source lies. */
function logsWithFinerInside(logs: readonly DataLog[]): Set<DataLog> {
  const containers = new Set<DataLog>()
  const devices = Map.groupBy(logs, ({ source, deviceType, deviceId }) => `${source}|${deviceType}|${deviceId ?? ''}`)
  for (const ofDevice of devices.values()) {
    let first: Span = { startMs: Number.POSITIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }
    const latestFirst = ofDevice.toSorted((a, b) => b.startMs - a.startMs || a.endMs - b.endMs)
    for (const log of latestFirst) {
      const span = spanOf(log)
      if (first.endMs < span.endMs || (first.endMs === span.endMs && first.startMs > span.startMs)) containers.add(log)
      if (span.endMs < first.endMs) first = span
    }
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
