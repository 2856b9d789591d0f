import { dayNumberFromText, dayText } from '../../base/time/local-time.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import type { MarkedDay } from '../store/derivation-queue.ts'

/**
 * The work of one transaction is bounded by its expected cost, so that no profile holds the thread for longer than a second
 * or two. Measured on two cores of an AMD EPYC; a slower machine takes longer for each portion.
 */
const perDayMs = 5
const perLogMs = 0.01

/** The cost of reading the logs of some days and of deriving facts from them. */
export function costOfLogs(days: Iterable<number>, logsOn: ReadonlyMap<string, number>): number {
  return countLogs(days, logsOn) * perLogMs
}

export function countLogs(days: Iterable<number>, logsOn: ReadonlyMap<string, number>): number {
  return [...days].reduce((sum, day) => sum + (logsOn.get(dayText(day)) ?? 0), 0)
}

type Portion = {
  marks: MarkedDay[]
  /** The first mark, if it alone costs more than a portion may: it is split by days. */
  tooLarge: MarkedDay | undefined
}

/** The days whose facts a mark derives again. */
export function factDaysOf({ localDay, isSingle }: MarkedDay): number[] {
  const day = dayNumberFromText(localDay)
  const reach = isSingle ? 0 : neighbourDays
  return Array.from({ length: 2 * reach + 1 }, (_, index) => day - reach + index)
}

/** The days whose logs are read to derive the facts of some days. */
export function logDaysOf(factDays: Iterable<number>): Set<number> {
  const days = new Set<number>()
  for (const day of factDays) {
    for (let near = day - neighbourDays; near <= day + neighbourDays; near += 1) days.add(near)
  }
  return days
}

/** The earliest marks that cost at most `budgetMs` together, or the first mark of a single day. */
export function firstPortion(
  marks: readonly MarkedDay[],
  { logsOn, budgetMs }: { logsOn: ReadonlyMap<string, number>; budgetMs: number },
): Portion {
  const taken: MarkedDay[] = []
  const read = new Set<number>()
  let spentMs = 0
  for (const mark of marks) {
    const more = [...logDaysOf(factDaysOf(mark))].filter((day) => !read.has(day))
    spentMs += perDayMs + costOfLogs(more, logsOn)
    if (spentMs > budgetMs && (taken.length > 0 || !mark.isSingle)) {
      return { marks: taken, tooLarge: taken.length === 0 ? mark : undefined }
    }
    taken.push(mark)
    for (const day of more) read.add(day)
  }
  return { marks: taken, tooLarge: undefined }
}
