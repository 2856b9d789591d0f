import { weekday } from '../../../base/time/local-time.ts'
import { mean, median, medianDeviation, normalShare, sum } from './statistics.ts'

/** A value by day number; lists of them are in the order of days. */
export type DayValue = readonly [day: number, value: number]

/**
 * The correlation of a person's days at a distance: `share` × `decay` ^ days. Two parts fit most daily figures: noise of
 * one day alone (1 - share), and a part that passes slowly (a first-order autoregression).
 */
export type SerialCorrelation = { readonly share: number; readonly decay: number }

/** The estimated change along a regressor, and the p of a change that large or larger where there is none. */
type SerialTest = { readonly change: number; readonly pValue: number }

type SerialTestOptions = {
  /** The course of the change that is looked for: 0 before it begins. */
  readonly regressor: (day: number) => number
  /** The test never allows for less correlation than these. */
  readonly least: readonly SerialCorrelation[]
}

const lagsMax = 21
const pairsMin = 10
const weekdayValuesMin = 6
/** A value farther from the median than this many deviations is pulled in: one odd day must not make a trend. */
const deviationsMax = 4
const rounds = 4
const errorRatioMax = 1.1
/** The largest share of the variance that the estimated level may absorb: more would look like a trend. */
const lostMax = 0.6

/**
 * Least squares of the values on a level and a regressor, with an error that allows for autocorrelation: the variance of
 * the estimate is that of a sum of correlated days, and the degrees of freedom are those of the effective sample size.
 */
export function serialTest(values: readonly DayValue[], { regressor, least }: SerialTestOptions): SerialTest {
  const tame = withoutWeekdays(withoutOutliers(values), regressor)
  const x = tame.map(([day]) => regressor(day))
  const [middle, level] = [mean(x), mean(tame.map(([, value]) => value))]
  const spread = sum(x.map((one) => (one - middle) ** 2))
  if (spread <= 0) return { change: 0, pValue: 1 }
  const weighted = tame.map(([day], index): DayValue => [day, ((x[index] ?? 0) - middle) / spread])
  const change = sum(tame.map(([, value], index) => (weighted[index]?.[1] ?? 0) * value))
  const residuals = tame.map(
    ([day, value], index): DayValue => [day, value - level - change * ((x[index] ?? 0) - middle)],
  )
  const noise = fitNoise(residuals)
  const correlations = [...noise.correlations, ...least]
  const variance = noise.variance * Math.max(...correlations.map((one) => correlatedSum(weighted, one)))
  const inflation = Math.max(...correlations.map((one) => inflationOf(tame.length, one)))
  if (variance <= 1e-12 * level ** 2) return { change, pValue: Math.abs(change) > 1e-9 * Math.abs(level) ? 0 : 1 }
  const freedom = Math.max(2, tame.length / inflation - 2)
  return { change, pValue: studentTail(Math.abs(change) / Math.sqrt(variance), freedom) }
}

function withoutOutliers(values: readonly DayValue[]): readonly DayValue[] {
  const all = values.map(([, value]) => value)
  const [middle, spread] = [median(all), 1.4826 * medianDeviation(all)]
  if (spread <= 0) return values
  const reach = deviationsMax * spread
  return values.map(([day, value]) => [day, Math.min(middle + reach, Math.max(middle - reach, value))])
}

/** Takes off what a weekday usually adds, so that weekends are not noise, once each weekday is known often enough. */
function withoutWeekdays(values: readonly DayValue[], regressor: (day: number) => number): readonly DayValue[] {
  const before = values.filter(([day]) => regressor(day) === 0)
  const byWeekday = Map.groupBy(before, ([day]) => weekday(day))
  if (byWeekday.size < 7 || [...byWeekday.values()].some((weekday) => weekday.length < weekdayValuesMin)) return values
  const level = mean(before.map(([, value]) => value))
  const added = new Map([...byWeekday].map(([on, weekday]) => [on, mean(weekday.map(([, value]) => value)) - level]))
  return values.map(([day, value]) => [day, value - (added.get(weekday(day)) ?? 0)])
}

/**
 * Fits the noise to the residuals' autocorrelations, each weighted by its number of pairs. Autocorrelations around an
 * estimated level are too small by the variance of that level, which is added again, in a few rounds.
 */
function fitNoise(residuals: readonly DayValue[]): { variance: number; correlations: readonly SerialCorrelation[] } {
  const squares = mean(residuals.map(([, value]) => value ** 2))
  let noise = { variance: squares, correlations: [{ share: 0, decay: 0 }] as readonly SerialCorrelation[] }
  if (squares <= 0) return noise
  const lags = autocorrelations(residuals, squares)
  for (let round = 0; round < rounds; round += 1) {
    const inflation = Math.max(...noise.correlations.map((one) => inflationOf(residuals.length, one)))
    const lost = Math.min(lostMax, inflation / residuals.length)
    const restored = lags.map(({ lag, pairs, value }) => ({ lag, pairs, value: value * (1 - lost) + lost }))
    noise = { variance: squares / (1 - lost), correlations: closeCorrelations(restored) }
  }
  return noise
}

type Lag = { readonly lag: number; readonly pairs: number; readonly value: number }

function autocorrelations(residuals: readonly DayValue[], squares: number): Lag[] {
  const first = residuals[0]?.[0] ?? 0
  const byDay: (number | undefined)[] = []
  for (const [day, value] of residuals) byDay[day - first] = value
  return Array.from({ length: lagsMax }, (_, index) => index + 1).flatMap((lag) => {
    let [pairs, total] = [0, 0]
    for (const [day, value] of residuals) {
      const later = byDay[day - first + lag]
      if (later === undefined) continue
      pairs += 1
      total += value * later
    }
    return pairs < pairsMin ? [] : [{ lag, pairs, value: total / pairs / squares }]
  })
}

/** Powers of the decays that are tried, 0 to 0.95. */
const triedDecays = Array.from({ length: 20 }, (_, index) => {
  const decay = index / 20
  return { decay, powers: Array.from({ length: lagsMax + 1 }, (_, lag) => decay ** lag) }
})

/**
 * The correlations that fit the autocorrelations nearly as well as the closest one. The most cautious of them counts:
 * with so few weeks of data, a slow drift looks much like a short memory.
 */
function closeCorrelations(lags: readonly Lag[]): SerialCorrelation[] {
  const fits = triedDecays.map(({ decay, powers }) => {
    let [norm, product, squares] = [0, 0, 0]
    for (const { lag, pairs, value } of lags) {
      const power = powers[lag] ?? 0
      norm += pairs * power * power
      product += pairs * value * power
      squares += pairs * value * value
    }
    const share = norm > 0 ? Math.min(1, Math.max(0, product / norm)) : 0
    return { share, decay, error: squares - 2 * share * product + share * share * norm }
  })
  const least = Math.min(...fits.map(({ error }) => error))
  return fits.filter(({ error }) => error <= least * errorRatioMax + 1e-12)
}

/** The sum over all pairs of days of the product of their weights and their correlation. */
function correlatedSum(weights: readonly DayValue[], { share, decay }: SerialCorrelation): number {
  let [own, others, carried, before] = [0, 0, 0, weights[0]?.[0] ?? 0]
  for (const [day, weight] of weights) {
    carried *= decay ** (day - before)
    own += weight * weight
    others += weight * carried
    carried += weight
    before = day
  }
  return own + 2 * share * others
}

/** How much larger the variance of a mean of `n` days is than of independent days: n over the effective sample size. */
function inflationOf(n: number, { share, decay }: SerialCorrelation): number {
  let [total, power] = [0, 1]
  for (let lag = 1; lag < n; lag += 1) {
    power *= decay
    total += (1 - lag / n) * power
  }
  return 1 + 2 * share * total
}

/** Two-sided tail of Student's t, by Wallace's approximation through the normal. */
export function studentTail(t: number, freedom: number): number {
  const scale = (8 * freedom + 1) / (8 * freedom + 3)
  return 2 * (1 - normalShare(scale * Math.sqrt(freedom * Math.log1p((t * t) / freedom))))
}
