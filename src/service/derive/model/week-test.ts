import { normalShare, sum } from './statistics.ts'

/** The mean of a week; `week` counts weeks, lists are in their order, and some weeks may be missing. */
export type WeekValue = { readonly week: number; readonly value: number }

/** The noise of a measure's weeks, as far as it is known before the weeks of the person. */
export type WeekNoise = {
  /** The deviation of the median person's weeks. */
  readonly deviation: number
  /** For how many weeks of the person's own that deviation counts. */
  readonly weight: number
  /** The correlation of neighbouring weeks. */
  readonly correlation: number
}

type WeekTest = { readonly change: number; readonly pValue: number }

/**
 * Whether weekly means follow a shape (0 before it begins): generalized least squares of a level and the shape, where
 * neighbouring weeks are correlated by a known amount (first-order autoregression). The deviation is the person's own, moderated by the
 * usual one as by some more weeks (Smyth 2004), so that a few weeks that happen to be alike do not make a trend.
 */
export function weekTest(weeks: readonly WeekValue[], shapeAt: (week: number) => number, noise: WeekNoise): WeekTest {
  const whiten = whitening(weeks, noise.correlation)
  const level = whiten(weeks.map(() => 1))
  const shape = whiten(weeks.map(({ week }) => shapeAt(week)))
  const values = whiten(weeks.map(({ value }) => value))
  const [levels, shapes, both] = [product(level, level), product(shape, shape), product(level, shape)]
  const [withLevel, withShape] = [product(level, values), product(shape, values)]
  const determinant = levels * shapes - both * both
  const ownWeeks = weeks.length - 2
  if (ownWeeks < 1 || determinant <= 1e-9 * levels * shapes) return { change: 0, pValue: 1 }
  const start = (shapes * withLevel - both * withShape) / determinant
  const change = (levels * withShape - both * withLevel) / determinant
  const residuals = values.map((value, index) => value - start * (level[index] ?? 0) - change * (shape[index] ?? 0))
  const squares = product(residuals, residuals) + noise.weight * noise.deviation ** 2
  const freedom = ownWeeks + noise.weight
  const error = Math.sqrt(((squares / freedom) * levels) / determinant)
  return { change, pValue: studentTail(Math.abs(change) / error, freedom) }
}

const product = (a: readonly number[], b: readonly number[]) => sum(a.map((value, index) => value * (b[index] ?? 0)))

/** Turns correlated weeks into independent ones of the same deviation. The correlation fades over missing weeks. */
function whitening(weeks: readonly WeekValue[], correlation: number) {
  const carried = weeks.map(({ week }, index) => {
    const before = weeks[index - 1]
    return before ? correlation ** (week - before.week) : 0
  })
  return (values: readonly number[]) =>
    values.map((value, index) => {
      const share = carried[index] ?? 0
      return (value - share * (values[index - 1] ?? 0)) / Math.sqrt(1 - share * share)
    })
}

/** Two-sided tail of Student's t, by Wallace's approximation through the normal. */
export function studentTail(t: number, freedom: number): number {
  const scale = (8 * freedom + 1) / (8 * freedom + 3)
  return 2 * (1 - normalShare(scale * Math.sqrt(freedom * Math.log1p((t * t) / freedom))))
}
