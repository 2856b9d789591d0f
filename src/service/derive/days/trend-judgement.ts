import { type DayValue, type SerialCorrelation, serialTest } from '../model/serial-noise.ts'
import { median, theilSen } from '../model/statistics.ts'
import { knownCorrelations, trendNoise, trendNoiseOfOthers, trendRules } from '../model/trend-model.ts'

type TrendState = 'increasing' | 'decreasing' | 'stable'
type TrendJudgement = { state: TrendState; slopePerWeek: number | null; pValue: number | null }

/**
 * Increasing or decreasing in two cases, and in each only if the person's own noise makes such a change unlikely: the
 * four weeks have a large enough slope away from the level before, or the last week is far from the week before.
 */
export function judgeTrend(series: {
  readonly name: string
  /** The first of the four weeks' days. */
  readonly firstDay: number
  readonly values: readonly DayValue[]
  /** The values of up to twelve weeks before: the level that the person came from, and the person's own noise. */
  readonly earlier: readonly DayValue[]
  /** The change of the last week against the week before, as a fraction. */
  readonly lastChange: number | null
}): TrendJudgement {
  const { name, firstDay, values, earlier, lastChange } = series
  const noise = trendNoise[name] ?? trendNoiseOfOthers
  if (values.length < trendRules.valuesMin) return { state: 'stable', slopePerWeek: null, pValue: null }
  const [slope, middle] = [theilSen(values), median(values.map(([, value]) => value))]
  const [all, least] = [[...earlier, ...values], leastCorrelations(name, earlier.length)]
  const ramp = serialTest(all, { regressor: (day) => Math.max(0, (day - firstDay) / trendRules.slopeDays), least })
  const found = { slopePerWeek: slope * 7, pValue: ramp.pValue }
  const change = middle === 0 ? 0 : (slope * trendRules.slopeDays) / Math.abs(middle)
  if (Math.abs(change) >= noise.slope && ramp.pValue < trendRules.pMax && change * ramp.change > 0)
    return { ...found, state: change > 0 ? 'increasing' : 'decreasing' }
  if (lastChange === null || Math.abs(lastChange) < noise.jump) return { ...found, state: 'stable' }
  const lastWeek = firstDay + 7 * (trendRules.weeks - 1)
  const jump = serialTest(all, { regressor: (day) => (day >= lastWeek ? 1 : 0), least })
  if (jump.pValue >= trendRules.jumpPMax || jump.change * lastChange <= 0) return { ...found, state: 'stable' }
  return { ...found, state: lastChange > 0 ? 'increasing' : 'decreasing' }
}

/**
 * The correlation that is taken for granted: what is known of the factor, and, while few earlier days are known, that of a
 * figure that wanders for weeks.
 */
function leastCorrelations(name: string, earlierDays: number): SerialCorrelation[] {
  const { share, shareOfUnknown, decay, earlierDaysMin } = trendRules.wandering
  const missing = Math.max(0, 1 - earlierDays / earlierDaysMin)
  const known = knownCorrelations[name]
  return [{ share: share + shareOfUnknown * missing, decay }, ...(known ? [known] : [])]
}
