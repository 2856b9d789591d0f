/** Rules of the trends: minimums and noise, each with where it comes from. */

import { vitalFactorNames } from './model.ts'
import { nightFactorNames } from './score-definitions.ts'

export const trendRules = {
  weeks: 4,
  validDaysMin: 4,
  validNightsMin: 3,
  weeksMin: 2,
  /** The change is the slope times 27 days, from the first to the last day of four weeks. */
  slopeDays: 27,
  pMax: 0.05,
  valuesMin: 14,
} as const

/**
 * `slope`: the least change over four weeks, as a share of the median, that counts as a trend. `jump`: the 95th
 * percentile of the change between two weeks in which nothing changed (bootstrap over 58 people); our own choice where
 * it was not measured.
 */
export const trendNoise: Readonly<Record<string, { slope: number; jump: number }>> = {
  steps: { slope: 0.1, jump: 0.67 },
  sleep_duration: { slope: 0.05, jump: 0.24 },
  resting_heart_rate: { slope: 0.03, jump: 0.043 },
  heart_rate_variability: { slope: 0.08, jump: 0.28 },
  sleep: { slope: 0.05, jump: 0.23 },
  activity: { slope: 0.05, jump: 0.49 },
  readiness: { slope: 0.05, jump: 0.15 },
  wellbeing: { slope: 0.05, jump: 0.36 },
  mental_wellbeing: { slope: 0.05, jump: 0.36 },
}
export const trendNoiseOfOthers = { slope: 0.1, jump: 0.67 } as const

/** Factors and biomarkers for which less is better. */
export const lowerIsBetter: readonly string[] = [
  'extended_inactivity',
  'sleep_continuity',
  'sleep_debt',
  'circadian_alignment',
  'resting_heart_rate',
  'heart_rate_resting',
]

/** Scores and factors with one value for each night: three nights make a week. */
export const nightlySubjects: readonly string[] = ['sleep', 'readiness', ...nightFactorNames, ...vitalFactorNames]
