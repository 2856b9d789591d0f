/** Rules of the archetypes and trends: edges, gates and noise, each with where it comes from. */
import { nightFactors, vitalFactors } from './model.ts'

/** Reliability of wearable records (PMC10104388): 5 nights a week or 10 a month for means, 18 a month for variability. */
export const periodGates = {
  weekly: { days: 4, nights: 4, regularNights: 5, replayed: 8 },
  monthly: { days: 10, nights: 10, regularNights: 18, replayed: 3 },
} as const

/** The three edges between the four values; a metric on an edge belongs above it. */
export const edges = {
  /** Tudor-Locke 2008, steps a day. */
  activity_level: [5000, 7500, 10000],
  /** Sessions of at least ten minutes a week. */
  exercise_frequency: [1, 3, 5],
  mental_wellness: [0.4, 0.6, 0.8],
  overall_wellness: [0.4, 0.6, 0.8],
  /** Minutes; the last edge is above nine hours, not at them. */
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

export type OrdinalName = keyof typeof edges

/** A value changes when its metric is past the edge by a twentieth of it (a quarter of an hour for clock times), or twice. */
export const hysteresis = { share: 0.05, clockMinutes: 15 } as const

export const sessionMinutesMin = 10
export const consistentFrom = 0.869

/** Kinds of exercise by what they ask of the body; the rest counts as cardio. No kind with half the time: hybrid. */
export const exerciseKinds: Readonly<Record<string, readonly string[]>> = {
  strength: [
    'strength_training',
    'weightlifting',
    'traditional_strength_training',
    'functional_strength_training',
    'calisthenics',
    'core_training',
  ],
  mind_body: ['yoga', 'pilates', 'tai_chi', 'stretching', 'mind_and_body', 'barre', 'meditation', 'guided_breathing'],
  hybrid: [
    'high_intensity_interval_training',
    'hiit',
    'crossfit',
    'cross_training',
    'circuit_training',
    'boot_camp',
    'mixed_cardio',
  ],
  sport: [
    'soccer',
    'football',
    'basketball',
    'tennis',
    'badminton',
    'volleyball',
    'rugby',
    'cricket',
    'baseball',
    'hockey',
    'golf',
    'squash',
    'table_tennis',
    'handball',
    'boxing',
    'martial_arts',
    'netball',
  ],
  outdoor: [
    'hiking',
    'skiing',
    'snowboarding',
    'climbing',
    'surfing',
    'paddling',
    'kayaking',
    'sailing',
    'trail_running',
    'mountain_biking',
    'snowshoeing',
  ],
}
export const hybridBelowShare = 0.5

/** How hard a session was where neither heart rate nor age tell. Anything else is medium. */
export const lowIntensityExercise: readonly string[] = [
  'walking',
  'yoga',
  'pilates',
  'tai_chi',
  'stretching',
  'meditation',
  'guided_breathing',
  'golf',
  'mind_and_body',
  'barre',
]
export const highIntensityExercise: readonly string[] = [
  'running',
  'high_intensity_interval_training',
  'hiit',
  'crossfit',
  'boot_camp',
  'trail_running',
  'squash',
  'boxing',
  'rowing',
  'circuit_training',
  'jump_rope',
  'stair_climbing',
]

export const trendRules = {
  weeks: 4,
  validDaysMin: 4,
  validNightsMin: 3,
  weeksMin: 2,
  /** The slope is taken over 27 days, from the first to the last day of four weeks. */
  slopeDays: 27,
  pMax: 0.05,
  valuesMin: 14,
} as const

/**
 * `slope`: change over four weeks, as a share of the median, that is worth calling one. `jump`: the 95th percentile of
 * the change between two weeks in which nothing changed (bootstrap over 58 people); own choice where none was measured.
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
export const otherNoise = { slope: 0.1, jump: 0.67 } as const

/** Factors of which less is better. */
export const lowerIsBetter: readonly string[] = [
  'extended_inactivity',
  'sleep_continuity',
  'sleep_debt',
  'circadian_alignment',
  'resting_heart_rate',
  'heart_rate_resting',
]

/** Scores and factors whose days are nights: three of them make a week. */
export const nightly: readonly string[] = ['sleep', 'readiness', ...nightFactors, ...vitalFactors]
