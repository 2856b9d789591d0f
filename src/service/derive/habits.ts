import type { MovementFacts } from './facts.ts'
import { windows } from './model.ts'
import { type Series, validMovements } from './series.ts'
import { mean, median, medianDeviation, sum, weightedMean } from './statistics.ts'

/** Minutes of at least medium intensity, hard ones counted twice; null where intensity is not known. */
export function intenseMinutes({ medium, high }: MovementFacts): number | null {
  return medium === null || high === null ? null : medium + 2 * high
}

/** Mean of the intense minutes of the last seven days, those with a record. */
export function intensity(series: Series, day: number): number | null {
  const { days, daysMin } = windows.intensity
  const known = validMovements(series, day - days + 1, day).flatMap((movement) => intenseMinutes(movement) ?? [])
  return known.length >= daysMin ? mean(known) : null
}

/** How alike the days of two weeks are, in how much was walked and at which hours. 1 is the same every day. */
export function activityRegularity(series: Series, day: number): number | null {
  const { days, daysMin } = windows.pattern
  const today = series.at(day)?.movement
  const known = validMovements(series, day - days + 1, day).filter(({ steps }) => steps !== null)
  const steps = known.map((movement) => movement.steps ?? 0)
  if (!today?.valid || known.length < daysMin || median(steps) <= 0) return null
  const amount = 1 - Math.min(1, medianDeviation(steps) / median(steps))
  const usual = today.hourly.map((_, hour) => mean(known.map(({ hourly }) => hourly[hour] ?? 0)))
  return (amount + cosine(today.hourly, usual)) / 2
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => sum(x.map((value, place) => value * (y[place] ?? 0)))
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length > 0 ? Math.min(1, dot(a, b) / length) : 0
}

/**
 * Recent over habitual load up to the evening before: the ratio of two exponentially weighted means, of seven and of
 * twenty-eight days. Looks at sixty days at most, so that a day long past does not matter for ever.
 */
export function strain(series: Series, day: number, loadOf: (movement: MovementFacts) => number | null): number | null {
  const rules = windows.strain
  const movements = validMovements(series, day - rules.days, day - 1)
  const loads = movements.flatMap((movement) => loadOf(movement) ?? [])
  if (loads.length < rules.daysMin) return null
  const habitual = weightedMean(loads, rules.chronic)
  return habitual > 0 ? weightedMean(loads, rules.acute) / habitual : null
}

/** A person's own usual value and how much it varies, from the sixty days before; null while too few are known. */
export function personal(
  series: Series,
  day: number,
  { name, read }: { name: string; read: (value: number) => number },
) {
  const { days, valuesMin } = windows.personal
  const known = series.between(day - days, day - 1).flatMap(({ measures }) => {
    const measure = measures[name]
    return measure ? [read(measure.value)] : []
  })
  if (known.length < valuesMin) return null
  return { middle: median(known), spread: 1.4826 * medianDeviation(known) }
}
