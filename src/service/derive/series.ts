import type { DayFacts, Measure } from './facts.ts'
import { midnightAt } from './local-time.ts'
import type { Person } from './log.ts'

/** The facts of many days, as the rules that look across days see them. */
export type Series = {
  readonly person: Person
  /** Ascending. */
  readonly days: readonly DayFacts[]
  at(day: number): DayFacts | undefined
  /** Days with facts from `from` to `to`, both included, ascending. */
  between(from: number, to: number): readonly DayFacts[]
  /** Whether the local day was over at the instant of derivation. */
  isClosed(facts: DayFacts): boolean
  readonly asOf: number
}

/**
 * A day that is not over yet counts for nothing that is measured by the day: half a day of steps is no low day. Its
 * night is over, and counts.
 */
export function createSeries(all: readonly DayFacts[], { person, asOf }: { person: Person; asOf: number }): Series {
  const isClosed = (facts: DayFacts) => asOf >= midnightAt(facts.day + 1, facts.offset)
  const days = all.map((facts) => (isClosed(facts) ? facts : { ...facts, movement: null, exercise: [] }))
  const byDay = new Map(days.map((facts) => [facts.day, facts]))
  const placeOf = (day: number) => {
    let [low, high] = [0, days.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((days[middle]?.day ?? 0) < day) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    person,
    asOf,
    days,
    isClosed,
    at: (day) => byDay.get(day),
    between: (from, to) => days.slice(placeOf(from), placeOf(to + 1)),
  }
}

/** The latest measure of a kind on or before a day, not older than `keptDays`. */
export function lastMeasure(
  series: Series,
  day: number,
  { name, keptDays }: { name: string; keptDays: number },
): Measure | null {
  const known = series.between(day - keptDays, day)
  return known.findLast(({ measures }) => measures[name] !== undefined)?.measures[name] ?? null
}

/** The movement of valid days only. */
export function validMovements(series: Series, from: number, to: number) {
  return series.between(from, to).flatMap(({ movement }) => (movement?.valid ? [movement] : []))
}
