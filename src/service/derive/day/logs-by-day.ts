import { isValueOf } from '../../../base/contract/log-value-bounds.ts'
import { compareText } from '../../../base/text/compare-text.ts'
import { dayNumberAt } from '../../../base/time/local-time.ts'
import { HOUR, MINUTE } from '../../../base/time/units.ts'
import type { Demographics } from '../model/demographics.ts'
import { wearRules } from '../model/model.ts'
import { type LogComparator, logComparator } from './log-ranking.ts'
import type { DataLog, Lineage } from './parsed-log.ts'

/** A day is derived from logs that start at most this many local days away. */
export const neighbourDays = 2

/** Logs by the local day on which they start, and by their kind. */
export type LogsByDay = ReturnType<typeof createLogsByDay>

/** Keeps one log for each id (the newest by `modifiedDateTime`), drops exact copies, logs longer than a day, and values beyond the bounds of their data type. */
export function createLogsByDay(logs: readonly DataLog[], lineage?: Lineage) {
  const days = Map.groupBy(newestById(logs, lineage), (log) => dayNumberAt(log.startMs, log.startOffset))
  const kinds = new Map(
    [...days].map(([day, dayLogs]) => [day, Map.groupBy(withoutCopies(dayLogs, lineage), (log) => log.dataType)]),
  )
  const around = (day: number) =>
    Array.from({ length: 2 * neighbourDays + 1 }, (_, index) => kinds.get(day + index - neighbourDays))
  const dataTypesAround = (day: number) => new Set(around(day).flatMap((byKind) => [...(byKind?.keys() ?? [])]))
  return {
    /** The local days on which a log starts, in no order to rely on. */
    days: [...days.keys()],
    /** Logs of one kind that start on the day or within `neighbourDays` of it, in no order to rely on. */
    around: (day: number, dataType: string) => around(day).flatMap((byKind) => byKind?.get(dataType) ?? []),
    /** Logs of one kind that start on the day. */
    on: (day: number, dataType: string) => kinds.get(day)?.get(dataType) ?? [],
    /** The kinds of logs around a day whose name starts with the prefix, sorted. */
    dataTypesAround: (day: number, prefix: string) =>
      [...dataTypesAround(day)].filter((kind) => kind.startsWith(prefix)).sort(compareText),
    /** Every log that starts on the day. */
    allOn: (day: number) => [...(kinds.get(day)?.values() ?? [])].flat(),
  }
}

/** How long a log lasts by the clock on the wall: a day lasts 24 hours by it, also when clocks change. */
function clockMs({ startMs, endMs, startOffset, endOffset }: DataLog): number {
  return endMs - startMs + (endOffset - startOffset) * MINUTE
}

function newestById(logs: readonly DataLog[], lineage?: Lineage): DataLog[] {
  const newest = new Map<string, DataLog>()
  for (const log of logs) {
    if (Math.min(log.endMs - log.startMs, clockMs(log)) > wearRules.logHoursMax * HOUR) {
      lineage?.leftOut(log, log.dataType, 'lasts longer than a day')
      continue
    }
    if (!isValueOf(log.dataType, log.value)) {
      lineage?.leftOut(log, log.dataType, 'its value is beyond those of its data type')
      continue
    }
    const known = newest.get(log.id)
    const [kept, left] = known && compareEdition(known, log) >= 0 ? [known, log] : [log, known]
    newest.set(log.id, kept)
    if (left) lineage?.leftOut(left, left.dataType, 'a newer edition of the same id is there')
  }
  return [...newest.values()]
}

/** Positive when `a` is the later edition of one id; between two equally late ones the order of arrival does not matter. */
function compareEdition(a: DataLog, b: DataLog): number {
  const [aMs, bMs] = [a.modifiedMs ?? Number.NEGATIVE_INFINITY, b.modifiedMs ?? Number.NEGATIVE_INFINITY]
  if (aMs !== bMs) return aMs > bMs ? 1 : -1
  return compareText(JSON.stringify(a), JSON.stringify(b))
}

/** A log of the same kind, time, value and source under another id is the same measurement sent twice. */
function withoutCopies(logs: readonly DataLog[], lineage?: Lineage): DataLog[] {
  const better = logComparator()
  const kept: DataLog[] = []
  const places = new Map<string, number>()
  const isAlone = startsAlone(logs)
  for (const log of logs) {
    if (isAlone(log)) {
      kept.push(log)
      continue
    }
    const key = `${log.dataType}|${log.startMs}|${log.endMs}|${log.value}|${log.source}`
    const place = places.get(key) ?? kept.length
    const known = kept[place]
    const [keep, left] = known && better(known, log) <= 0 ? [known, log] : [log, known]
    places.set(key, place)
    kept[place] = keep
    if (left) lineage?.leftOut(left, left.dataType, 'an exact copy of another log')
  }
  return kept
}

/** Most logs are the only ones of their kind that start at their instant, and can have no copy. */
function startsAlone(logs: readonly DataLog[]): (log: DataLog) => boolean {
  const countsByKind = new Map<string, Map<number, number>>()
  for (const { dataType, startMs } of logs) {
    const counts = countsByKind.get(dataType) ?? new Map<number, number>()
    countsByKind.set(dataType, counts)
    counts.set(startMs, (counts.get(startMs) ?? 0) + 1)
  }
  return ({ dataType, startMs }) => countsByKind.get(dataType)?.get(startMs) === 1
}

/** Everything that one day is derived from. */
export type DayInputs = {
  readonly logsByDay: LogsByDay
  readonly day: number
  readonly compareLogs: LogComparator
  readonly sourcePriority: readonly string[]
  readonly demographics: Demographics
  readonly lineage?: Lineage | undefined
}
