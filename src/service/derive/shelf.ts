import { HOUR } from '../../window.ts'
import { dayAt } from './local-time.ts'
import type { Log, Trace } from './log.ts'
import { coverage } from './model.ts'
import { compareLogs, compareText } from './rank.ts'

/** Logs by the local day they start on and by their kind; what a day is made of lies at most this many days away. */
export const neighbourDays = 2

export type Shelf = {
  /** The local days on which a log starts, ascending. */
  readonly days: readonly number[]
  /** Logs of one kind that start on the day or within `neighbourDays` of it, in no order to rely on. */
  around(day: number, dataType: string): Log[]
  /** Logs of one kind that start on the day. */
  on(day: number, dataType: string): readonly Log[]
  /** The kinds there are around a day, of which the name starts so. */
  kindsAround(day: number, prefix: string): string[]
  /** Every log that starts on the day. */
  allOn(day: number): readonly Log[]
}

/** Keeps one log an id (the newest by `modifiedDateTime`), drops exact copies and logs longer than a day. */
export function createShelf(logs: readonly Log[], trace?: Trace): Shelf {
  const days = new Map<number, Log[]>()
  for (const log of newestById(logs, trace)) {
    const day = dayAt(log.startAt, log.startOffset)
    const there = days.get(day)
    if (there) there.push(log)
    else days.set(day, [log])
  }
  const kinds = new Map<number, Map<string, Log[]>>()
  for (const [day, there] of days) kinds.set(day, byKind(withoutCopies(there, trace)))
  const around = (day: number) =>
    Array.from({ length: 2 * neighbourDays + 1 }, (_, place) => kinds.get(day + place - neighbourDays))
  return {
    days: [...days.keys()].sort((a, b) => a - b),
    around: (day, dataType) => around(day).flatMap((there) => there?.get(dataType) ?? []),
    on: (day, dataType) => kinds.get(day)?.get(dataType) ?? [],
    kindsAround: (day, prefix) =>
      [
        ...new Set(
          around(day).flatMap((there) => [...(there?.keys() ?? [])].filter((kind) => kind.startsWith(prefix))),
        ),
      ].sort(compareText),
    allOn: (day) => [...(kinds.get(day)?.values() ?? [])].flat(),
  }
}

function newestById(logs: readonly Log[], trace?: Trace): Log[] {
  const newest = new Map<string, Log>()
  for (const log of logs) {
    if (log.endAt - log.startAt > coverage.logHoursMax * HOUR) {
      trace?.left(log, log.dataType, 'lasts longer than a day')
      continue
    }
    const known = newest.get(log.id)
    const [kept, left] = known && compareEdition(known, log) >= 0 ? [known, log] : [log, known]
    newest.set(log.id, kept)
    if (left) trace?.left(left, left.dataType, 'a newer edition of the same id is there')
  }
  return [...newest.values()]
}

/** The later edition of one id; of two equally late ones always the same, whichever came first. */
function compareEdition(a: Log, b: Log): number {
  const [aAt, bAt] = [a.modifiedAt ?? Number.NEGATIVE_INFINITY, b.modifiedAt ?? Number.NEGATIVE_INFINITY]
  if (aAt !== bAt) return aAt > bAt ? 1 : -1
  return compareText(JSON.stringify(a), JSON.stringify(b))
}

/** The same kind, time, value and source under another id is the same measurement sent twice. */
function withoutCopies(logs: readonly Log[], trace?: Trace): Log[] {
  const better = compareLogs()
  const kept = new Map<string, Log>()
  for (const log of logs) {
    const key = `${log.dataType}|${log.startAt}|${log.endAt}|${log.value}|${log.source}`
    const known = kept.get(key)
    const [keep, left] = known && better(known, log) <= 0 ? [known, log] : [log, known]
    kept.set(key, keep)
    if (left) trace?.left(left, left.dataType, 'an exact copy of another log')
  }
  return [...kept.values()]
}

function byKind(logs: readonly Log[]): Map<string, Log[]> {
  const kinds = new Map<string, Log[]>()
  for (const log of logs) {
    const there = kinds.get(log.dataType)
    if (there) there.push(log)
    else kinds.set(log.dataType, [log])
  }
  return kinds
}
