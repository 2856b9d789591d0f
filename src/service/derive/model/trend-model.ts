/** Rules of the trends: minimums and noise, each with where it comes from. */

import { lookBacks, vitalFactorNames } from './model.ts'
import { nightFactorNames } from './score-definitions.ts'
import type { SerialCorrelation } from './serial-noise.ts'

export const trendRules = {
  weeks: 4,
  validDaysMin: 4,
  validNightsMin: 3,
  weeksMin: 2,
  /** The change is the slope times 27 days, from the first to the last day of four weeks. */
  slopeDays: 27,
  valuesMin: 14,
  /** The weeks before, from which the level and the noise of the person are known. */
  weeksBefore: 12,
  /** With these, about one unchanged month in twenty is called a trend, by the slope or by the last week. */
  pMax: 0.02,
  jumpPMax: 0.005,
  /**
   * Everybody's figures wander a little for weeks. Until 60 days before the four weeks are known, the wandering of a
   * person is unknown, and a larger one is assumed.
   */
  wandering: { share: 0.09, shareOfUnknown: 0.4, decay: 0.95, earlierDaysMin: 60 },
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
  sleep_efficiency: { slope: 0.02, jump: 0.034 },
  sleep: { slope: 0.05, jump: 0.23 },
  activity: { slope: 0.05, jump: 0.49 },
  readiness: { slope: 0.05, jump: 0.15 },
  wellbeing: { slope: 0.05, jump: 0.36 },
  mental_wellbeing: { slope: 0.05, jump: 0.36 },
}
export const trendNoiseOfOthers = { slope: 0.1, jump: 0.67 } as const

/** A figure computed over `days` days is at least as correlated as an exponential mean of that length. */
const computedOver = (days: number): SerialCorrelation => ({ share: 0.9, decay: (days - 1) / (days + 1) })

/**
 * The prior knowledge of a factor's correlation: some look at several days at once, so that their daily values share
 * most of their days; the device smooths a resting rate over an unknown number of days.
 */
export const knownCorrelations: Readonly<Record<string, SerialCorrelation>> = {
  sleep_debt: computedOver(lookBacks.debt.days),
  sleep_regularity: computedOver(lookBacks.regularity.days),
  intense_activity_duration: computedOver(lookBacks.intensity.days),
  activity_regularity: computedOver(lookBacks.pattern.days),
  walking_strain_capacity: computedOver(lookBacks.strain.acute),
  exercise_strain_capacity: computedOver(lookBacks.strain.acute),
  resting_heart_rate: computedOver(14),
}

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
