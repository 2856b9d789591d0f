import type { MovementFacts } from '../day/facts.ts'
import { lookBacks } from '../model/model.ts'
import { mean, median, medianDeviation, sum, weightedMean } from '../model/statistics.ts'
import { type DaySeries, validMovements } from './day-series.ts'

/** Mean of the intense minutes over those of the last seven days on which they are known. */
export function meanIntenseMinutes(series: DaySeries, day: number): number | null {
  const { days, daysMin } = lookBacks.intensity
  const known = validMovements(series, day - days + 1, day).flatMap(({ intense }) => intense ?? [])
  return known.length >= daysMin ? mean(known) : null
}

/** How similar the days of two weeks are, in the number of steps and in their hours. 1 means the same every day. */
export function activityRegularity(series: DaySeries, day: number): number | null {
  const { days, daysMin } = lookBacks.pattern
  const today = series.at(day)?.movement
  const known = validMovements(series, day - days + 1, day).flatMap(({ steps, hourly }) =>
    steps === null || hourly === null ? [] : [{ steps, hourly }],
  )
  const steps = known.map((movement) => movement.steps)
  if (!today?.valid || !today.hourly || known.length < daysMin || median(steps) <= 0) return null
  const amount = 1 - Math.min(1, medianDeviation(steps) / median(steps))
  const usual = today.hourly.map((_, hour) => mean(known.map(({ hourly }) => hourly[hour] ?? 0)))
  return (amount + cosine(today.hourly, usual)) / 2
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => sum(x.map((value, index) => value * (y[index] ?? 0)))
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length > 0 ? Math.min(1, dot(a, b) / length) : 0
}

/**
 * Recent over habitual load up to the evening before: the ratio of two exponentially weighted means, of seven and of
 * twenty-eight days. It looks back sixty days at most, so that a change of one day reaches a bounded number of days.
 */
export function strainRatio(
  series: DaySeries,
  day: number,
  loadOf: (movement: MovementFacts) => number | null,
): number | null {
  const rules = lookBacks.strain
  const movements = validMovements(series, day - rules.days, day - 1)
  const loads = movements.flatMap((movement) => loadOf(movement) ?? [])
  if (loads.length < rules.daysMin) return null
  const habitual = weightedMean(loads, rules.chronic)
  return habitual > 0 ? weightedMean(loads, rules.acute) / habitual : null
}
