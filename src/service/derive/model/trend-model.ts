/** Rules of the trends: minimums and noise, each with where it comes from. */

import { vitalFactorNames } from './model.ts'
import { nightFactorNames } from './score-definitions.ts'
import type { WeekNoise } from './week-test.ts'

export const trendRules = {
  weeks: 4,
  validDaysMin: 4,
  validNightsMin: 3,
  weeksMin: 2,
  valuesMin: 14,
  /** The weeks before, from which the level and the noise of the person are known. */
  weeksBefore: 12,
  /** The change that each of the four weeks has of the whole: between a steady rise and a step at their beginning. */
  shape: [0.25, 0.5, 0.75, 1],
  /** Two-sided: of a hundred persons in whose life nothing changes, four have a trend. */
  pMax: 0.04,
  deviationsMax: 4,
} as const

/**
 * The noise of weeks by measure, for 2 to 8 weeks of the person's own. Deviations: LifeSnaps (71 people). The correlation of
 * each is chosen so that at most 4 % of simulated lives without a change have a trend where weeks are as correlated as real
 * ones (`npm run trends`). Figures over several days share most of their days.
 */
const weekNoise: Readonly<Record<string, WeekNoise>> = {
  steps: { deviation: 0.206, weight: 2, correlation: 0.22 },
  sleep_duration: { deviation: 0.078, weight: 4, correlation: 0 },
  resting_heart_rate: { deviation: 0.029, weight: 4, correlation: 0.43 },
  heart_rate_variability: { deviation: 0.1, weight: 2, correlation: 0.09 },
  sleep: { deviation: 0.053, weight: 4, correlation: 0.25 },
  activity: { deviation: 0.092, weight: 2, correlation: 0.11 },
  readiness: { deviation: 0.087, weight: 8, correlation: 0.15 },
  wellbeing: { deviation: 0.05, weight: 2, correlation: 0.28 },
  mental_wellbeing: { deviation: 0.059, weight: 2, correlation: 0.17 },
  sleep_debt: { deviation: 0.1, weight: 1, correlation: 0.35 },
  sleep_regularity: { deviation: 0.03, weight: 1, correlation: 0.35 },
  intense_activity_duration: { deviation: 0.4, weight: 1, correlation: 0.4 },
  activity_regularity: { deviation: 0.1, weight: 1, correlation: 0.6 },
  walking_strain_capacity: { deviation: 0.1, weight: 1, correlation: 0.35 },
  exercise_strain_capacity: { deviation: 0.1, weight: 1, correlation: 0.35 },
}
const weekNoiseOfOthers: WeekNoise = { deviation: 0.1, weight: 1, correlation: 0.25 }

export const weekNoiseOf = (name: string): WeekNoise => weekNoise[name] ?? weekNoiseOfOthers

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
