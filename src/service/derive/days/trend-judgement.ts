import { mean, median, medianDeviation, theilSen } from '../model/statistics.ts'
import { nightlySubjects, trendRules, weekNoiseOf } from '../model/trend-model.ts'
import { type WeekValue, weekTest } from '../model/week-test.ts'

/** A value by day number; lists of them are in the order of days. */
type DayValue = readonly [day: number, value: number]
type TrendState = 'increasing' | 'decreasing' | 'stable'
type TrendJudgement = { state: TrendState; slopePerWeek: number | null; pValue: number | null }

type TrendSeries = {
  readonly name: string
  /** The first of the four weeks' days. */
  readonly firstDay: number
  readonly values: readonly DayValue[]
  /** The values of up to twelve weeks before: the level that the person came from, and the person's own noise. */
  readonly earlier: readonly DayValue[]
}

/**
 * Increasing or decreasing where the four weeks lead away from the weeks before more than the person's own weeks differ. The
 * shape of one test stands for a rise within the four weeks, a step at their beginning, and a rise that began before and goes on.
 * The four weeks must also be past the four before them: a change that ended earlier is no trend.
 */
export function judgeTrend({ name, firstDay, values, earlier }: TrendSeries): TrendJudgement {
  if (values.length < trendRules.valuesMin) return { state: 'stable', slopePerWeek: null, pValue: null }
  const weeks = weeksOf(withoutOutliers([...earlier, ...values]), { name, firstDay })
  const { change, pValue } = weekTest(logarithms(weeks), (week) => trendRules.shape[week] ?? 0, weekNoiseOf(name))
  const found = { slopePerWeek: theilSen(values) * 7, pValue }
  if (pValue >= trendRules.pMax || change * latestChange(weeks) <= 0) return { ...found, state: 'stable' }
  return { ...found, state: change > 0 ? 'increasing' : 'decreasing' }
}

/** Week 0 is the first of the four. A week counts from as many days as the week of a trend needs. */
function weeksOf(values: readonly DayValue[], { name, firstDay }: Pick<TrendSeries, 'name' | 'firstDay'>): WeekValue[] {
  const needed = nightlySubjects.includes(name) ? trendRules.validNightsMin : trendRules.validDaysMin
  return [...Map.groupBy(values, ([day]) => Math.floor((day - firstDay) / 7))].flatMap(([week, days]) =>
    days.length < needed ? [] : [{ week, value: mean(days.map(([, value]) => value)) }],
  )
}

/** A value farther from the median than four deviations is pulled in: one odd day must not make a trend. */
function withoutOutliers(values: readonly DayValue[]): readonly DayValue[] {
  const all = values.map(([, value]) => value)
  const [middle, reach] = [median(all), trendRules.deviationsMax * 1.4826 * medianDeviation(all)]
  if (reach <= 0) return values
  return values.map(([day, value]) => [day, Math.min(middle + reach, Math.max(middle - reach, value))])
}

/**
 * Weeks as logarithms of their share of the person's level, because noise grows and falls with the level. A week counts as at
 * least half of the level, for a measure may be zero.
 */
function logarithms(weeks: readonly WeekValue[]): WeekValue[] {
  const level = mean(weeks.map(({ value }) => value))
  return weeks.map(({ week, value }) => ({ week, value: level > 0 ? Math.log(Math.max(0.5, value / level)) : 0 }))
}

/** By how much the four weeks differ from the four before them; without those, the last week from the first. */
function latestChange(weeks: readonly WeekValue[]): number {
  const between = (from: number, upTo: number) =>
    weeks.filter(({ week }) => week >= from && week < upTo).map(({ value }) => value)
  const [before, latest] = [between(-trendRules.weeks, 0), between(0, trendRules.weeks)]
  if (before.length > 0) return mean(latest) - mean(before)
  return (latest.at(-1) ?? 0) - (latest[0] ?? 0)
}
