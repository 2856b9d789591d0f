import { midnightMs } from '../../../base/time/local-time.ts'
import { lowerBound } from '../../../base/time/lower-bound.ts'
import type { DayFacts, DayMeasure } from '../day/facts.ts'
import type { Demographics } from '../model/demographics.ts'
import { lookBacks } from '../model/model.ts'
import { median, medianDeviation } from '../model/statistics.ts'

/** The facts of many days, for the rules that look across days. */
export type DaySeries = ReturnType<typeof createDaySeries>

/** Whether a local day is over, by the offset in which it ends. */
export function isDayOver({ day, offset }: { day: number; offset: number }, asOfMs: number): boolean {
  return asOfMs >= midnightMs(day + 1, offset)
}

/**
 * `all` is ascending. A day that is not over has no movement and no exercise here, because half a day of steps would
 * count as a low day. Its night is over, and counts.
 */
export function createDaySeries(
  all: readonly DayFacts[],
  { demographics, asOfMs }: { demographics: Demographics; asOfMs: number },
) {
  const isOver = (facts: DayFacts) => isDayOver(facts, asOfMs)
  const days = all.map((facts) => (isOver(facts) ? facts : { ...facts, movement: null, exercise: [] }))
  const byDay = new Map(days.map((facts) => [facts.day, facts]))
  const indexOf = (day: number) => lowerBound(days.length, (index) => (days[index]?.day ?? 0) < day)
  return {
    demographics,
    /** Whether the local day was over at the instant of derivation. */
    isOver,
    at: (day: number) => byDay.get(day),
    /** Days with facts from `from` to `to`, both included, ascending. */
    between: (from: number, to: number) => days.slice(indexOf(from), indexOf(to + 1)),
  }
}

/** The latest measure of a kind on or before a day, at most `daysMax` days old. */
export function lastMeasure(
  series: DaySeries,
  day: number,
  { name, daysMax }: { name: string; daysMax: number },
): DayMeasure | null {
  const known = series.between(day - daysMax, day)
  return known.findLast(({ measures }) => measures[name] !== undefined)?.measures[name] ?? null
}

/** The movement of the valid days. */
export function validMovements(series: DaySeries, from: number, to: number) {
  return series.between(from, to).flatMap(({ movement }) => (movement?.valid ? [movement] : []))
}

/** The median and the spread of a person's own values on the sixty days before; null while too few are known. */
export function personalBaseline(
  series: DaySeries,
  day: number,
  numberOf: (facts: DayFacts) => number | null | undefined,
): { middle: number; spread: number } | null {
  const { days, valuesMin } = lookBacks.personal
  const known = series.between(day - days, day - 1).flatMap((facts) => numberOf(facts) ?? [])
  return known.length < valuesMin ? null : { middle: median(known), spread: 1.4826 * medianDeviation(known) }
}
