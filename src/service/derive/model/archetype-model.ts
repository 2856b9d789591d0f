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
 * An archetype keeps its value until the metric of a period is past the threshold by two deviations of the person's own
 * periods, or that of two periods in a row is by half of it. The margin is at least a twentieth of the threshold, or
 * a quarter of an hour. With these, simulated lives without a change keep their value in 85 % of weeks or more.
 */
export const hysteresis = { share: 0.05, clockMinutes: 15, deviations: 2, pairShare: 0.5 } as const

export const sessionMinutesMin = 10
export const consistentFrom = 0.869
