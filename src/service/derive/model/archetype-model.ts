/** Rules of the archetypes: thresholds, minimums and hysteresis, each with where it comes from. */

/** Reliability of wearable records (PMC10104388): 5 nights a week or 10 a month for means, 18 a month for variability. */
export const periodMinimums = {
  weekly: { days: 4, nights: 4, regularNights: 5, replayed: 16 },
  monthly: { days: 10, nights: 10, regularNights: 18, replayed: 3 },
} as const

/** The three thresholds between the four values of each archetype; a metric on a threshold belongs above it. */
export const archetypeThresholds = {
  /** Tudor-Locke 2008, steps a day. */
  activity_level: [5000, 7500, 10000],
  /** Sessions of at least ten minutes a week. */
  exercise_frequency: [1, 3, 5],
  mental_wellness: [0.4, 0.6, 0.8],
  overall_wellness: [0.4, 0.6, 0.8],
  /** Minutes; the last threshold lies above nine hours, not at nine hours. */
  sleep_duration: [300, 420, 540.0001],
  sleep_efficiency: [0.75, 0.85, 0.92],
  sleep_quality: [0.4, 0.6, 0.8],
  /** 0.869 and 0.932: quartiles of the UK Biobank (Windred 2024). */
  sleep_regularity: [0.8, 0.869, 0.932],
  /** Minutes from noon, so that times around midnight keep their order: 21:30, 23:00, 00:30. */
  bed_schedule: [570, 660, 750],
  /** Minutes from midnight: 05:30, 07:30, 09:00. */
  wake_schedule: [330, 450, 540],
} as const

export type OrdinalName = keyof typeof archetypeThresholds

/** Object.keys widens the names to strings; here alone they are narrowed again. */
export const ordinalNames = Object.keys(archetypeThresholds) as readonly OrdinalName[]

/**
 * When an archetype changes, in deviations of the person's own periods: one period past a threshold by `alone`, two in a row
 * by `pair` each, or `persists` in a row by anything. `differences`: from how many differences between periods on the person's
 * own deviation counts alone. `least`: nobody's deviation is less than this share of the usual one. Simulated with the noise of real people's weeks in `test/service/derive/archetypes.test.ts`.
 */
export const hysteresis = { alone: 2.5, pair: 0.9, persists: 4, differences: 4, least: 0.25 } as const

/**
 * The deviation of most people's weeks: as a share of the threshold from LifeSnaps (71 people), our own choice where that has
 * none; of a regularity and of clock times as it is.
 */
const usualWeekDeviations: Readonly<Record<OrdinalName, { share: number } | { amount: number }>> = {
  activity_level: { share: 0.22 },
  exercise_frequency: { share: 0.3 },
  mental_wellness: { share: 0.095 },
  overall_wellness: { share: 0.054 },
  sleep_duration: { share: 0.08 },
  sleep_efficiency: { share: 0.03 },
  sleep_quality: { share: 0.053 },
  sleep_regularity: { amount: 0.03 },
  bed_schedule: { amount: 30 },
  wake_schedule: { amount: 30 },
}

/** The usual deviation of a person's weeks or months at a threshold. A month is the mean of four weeks. */
export function usualDeviation(name: OrdinalName, periodicity: 'weekly' | 'monthly') {
  const usual = usualWeekDeviations[name]
  const part = periodicity === 'weekly' ? 1 : 0.5
  return (threshold: number) => part * ('share' in usual ? usual.share * threshold : usual.amount)
}

export const sessionMinutesMin = 10
export const consistentFrom = 0.869
