import { mannKendall, median, theilSen } from '../model/statistics.ts'
import { trendNoise, trendNoiseOfOthers, trendRules } from '../model/trend-model.ts'

type TrendState = 'increasing' | 'decreasing' | 'stable'
type TrendJudgement = { state: TrendState; slopePerWeek: number | null; pValue: number | null }

/**
 * Increasing or decreasing in two cases: the daily values have a large enough and significant slope, or the last week
 * differs from the week before by more than two weeks without a change do. Steps are so noisy that a decline of a third
 * is found one time in four.
 */
export function judgeTrend(
  values: readonly (readonly [number, number])[],
  lastChange: number | null,
  name: string,
): TrendJudgement {
  const noise = trendNoise[name] ?? trendNoiseOfOthers
  const enough = values.length >= trendRules.valuesMin
  const slope = enough ? theilSen(values) : null
  const pValue = enough ? mannKendall(values.map(([, value]) => value)) : null
  const middle = median(values.map(([, value]) => value))
  const slopePerWeek = slope === null ? null : slope * 7
  if (slope !== null && pValue !== null && middle !== 0 && pValue < trendRules.pMax) {
    const change = (slope * trendRules.slopeDays) / Math.abs(middle)
    if (Math.abs(change) >= noise.slope)
      return { state: change > 0 ? 'increasing' : 'decreasing', slopePerWeek, pValue }
  }
  if (lastChange !== null && Math.abs(lastChange) >= noise.jump) {
    return { state: lastChange > 0 ? 'increasing' : 'decreasing', slopePerWeek, pValue }
  }
  return { state: 'stable', slopePerWeek, pValue }
}
