/**
 * Every curve, minimum and threshold of the model, each with its source. Changing a figure of this folder is a change of
 * the model: raise `modelVersion`, and every profile is derived again.
 *
 * Points of a curve are [x, score], linear between and flat outside. "Fit" marks points chosen so that known answers of a
 * service with this interface are met within 0.03. A figure without a source is this model's own choice.
 */
export const modelVersion = 'transparent-v3'

export type CurvePoints = readonly (readonly [x: number, score: number])[]

/** A day is valid when a device was worn, or when it shows movement and is not almost all sedentary. */
export const validDay = { wearMinutesMin: 600, stepsMin: 200, sedentaryMinutesMax: 1380 } as const

export const wearRules = {
  /** With less covered time nobody knows what happened in the gaps, so active hours and stillness are not counted. */
  coveredMinutesMin: 600,
  /** For how many minutes a single sample counts as proof of wear. */
  sampleMinutes: 5,
  /** A longer interval says how much was counted, but not when the device was worn. */
  intervalMinutesMax: 60,
  /** Logs that are longer, also by the clock on the wall, belong to no particular day and are left out. */
  logHoursMax: 25,
  /** The hours that count as awake when no sleep is recorded. The result is flagged as estimated. */
  wakingHours: [7, 23],
} as const

/** Longer logs of steps give no pace, and still longer logs not even the hour: then it is unknown, not zero. */
export const stepDetail = { paceMinutesMax: 6, hourMinutesMax: 60, shareMin: 0.5 } as const

/**
 * Minutes of at least medium intensity that a device counted itself. Active zone minutes count those of high intensity
 * twice already.
 */
export const activeMinuteKinds = ['exercise_time', 'active_minutes'] as const
export const zoneMinuteKind = 'active_zone_minutes'

/** Steps a minute. 100 as the floor of moderate: Tudor-Locke 2011; 130 as vigorous. */
export const cadence = { low: 40, medium: 100, high: 130 } as const
/** Share of the maximal heart rate 208 - 0.7 × age (Tanaka 2001); zones as in the ACSM guidelines. */
export const heartZones = { medium: 0.64, high: 0.77, maximum: (age: number) => 208 - 0.7 * age } as const
/** An hour counts as active from 250 steps, or from one minute of at least medium intensity. */
export const activeHour = { stepsMin: 250, minutesMin: 1 } as const
/** Stillness counts from one hour on; gaps of up to 15 minutes in the record do not interrupt it. */
export const stillness = { boutMinutesMin: 60, gapMinutesMax: 15 } as const

export const sleepRules = {
  dayStartsAtHour: 18,
  clusterGapMinutes: 60,
  mainMinutesMin: 180,
  durationMinutes: [120, 960],
  /** In bed is not asleep: where only time in bed is known, nine tenths of it count as asleep, flagged as estimated. */
  asleepShareOfInBed: 0.9,
  /** Awakenings count from five minutes on (National Sleep Foundation, Ohayon 2017). */
  awakeBoutMinutesMin: 5,
} as const

export const sampleRules = {
  sleepSamplesMin: 20,
  daySamplesMin: 3,
  nightlyHoursMin: 3,
  /** A ring or strap writes its one figure of the night when the sleep is over. */
  afterSleepMinutesMax: 60,
  restingWindowMinutes: 30,
} as const

/** Days for which a measure stays known. A height stays known for good. */
export const knownForDays = { body: 30, vo2Max: 90 } as const

export const lookBacks = {
  debt: { days: 7, nightsMin: 3 },
  /** Reliable weekly figures need five nights a week (Fitbit reliability study, PMC10104388). */
  regularity: { days: 7, nightsMin: 5, pairsMin: 4 },
  circadian: { days: 28, nightsMin: 7, freeNightsMin: 2, workNightsMin: 3 },
  intensity: { days: 7, daysMin: 3 },
  pattern: { days: 14, daysMin: 7 },
  strain: { days: 60, daysMin: 14, acute: 7, chronic: 28 },
  personal: { days: 60, valuesMin: 14 },
  /** Whether a source records a stage of sleep, or wakefulness, at all. */
  recording: { days: 28 },
  /** Whether the sources of a person send exercise sessions at all. */
  sessions: { days: 90 },
  comparison: { days: 90, valuesMax: 60, valuesMin: 14 },
} as const

/**
 * Hirshkowitz 2015: 7 to 9 hours, from 65 on 7 to 8; 6 to 10, from 65 on 5 to 9, may be right for some. Within that range
 * the need behind a debt is the person's own usual sleep.
 */
export const sleepNeed = {
  fromAge: 65,
  older: { minutes: 450, range: [300, 540] },
  usual: { minutes: 480, range: [360, 600] },
} as const
/** Paluch 2022: the benefit of steps levels off at 6,000-8,000 from 60 on, at 8,000-10,000 before. */
export const stepsGoal = { fromAge: 60, older: 8000, usual: 10000 } as const

/** A curve by its points. */
export const curve = (...points: CurvePoints) => points

export const scoreCurves = {
  /** x: medians of Paluch 2022's quartiles; scores: their share of the risk reduction. For a goal of 10,000. */
  steps: curve([0, 0], [3553, 0.35], [5801, 0.7], [7842, 0.85], [9000, 0.93], [10000, 1]),
  active_hours: curve([0, 0], [6, 0.6], [9, 0.83], [12, 1]),
  /** WHO 2020: 150-300 minutes a week, 21.4-43 a day, vigorous ones counted twice. */
  intense_activity_duration: curve([0, 0], [10, 0.5], [21.4, 0.9], [30, 1]),
  extended_inactivity: curve([240, 1], [360, 0.9], [500, 0.8], [600, 0.65], [720, 0.4], [900, 0]),
  floors_climbed: curve([0, 0], [3, 0.55], [6, 0.79], [10, 1]),
  /** National Sleep Foundation's ranges, fit. For a need of 480 minutes. */
  sleep_duration: curve(
    [0, 0],
    [240, 0.25],
    [300, 0.45],
    [360, 0.65],
    [420, 0.85],
    [465, 0.98],
    [480, 1],
    [510, 0.95],
    [540, 0.82],
    [600, 0.67],
    [720, 0.4],
  ),
  /** The point at 1.5 is fit: without it 1.5 hours would score 0.885, where 0.84 has been seen. */
  sleep_debt: curve([0, 1], [1, 0.92], [1.5, 0.86], [2, 0.85], [4, 0.7], [7, 0.45], [14, 0]),
  circadian_alignment: curve([0, 1], [30, 0.9], [60, 0.81], [120, 0.6], [180, 0.4], [300, 0]),
  /** Awake after sleep onset: up to 20 minutes is good sleep (National Sleep Foundation, Ohayon 2017). */
  sleep_continuity: curve([0, 1], [10, 0.91], [20, 0.85], [40, 0.7], [60, 0.5], [90, 0]),
  /** Fit: a plain power of x / 120 misses 93 or 110 minutes by more than 0.03, whatever its exponent. */
  mental_recovery: curve([0, 0], [30, 0.29], [60, 0.54], [93, 0.79], [110, 0.95], [120, 1]),
  /** Ohayon 2017: from 85 % on good, up to 74 % poor. */
  sleep_efficiency: curve([50, 0], [65, 0.3], [74, 0.5], [85, 0.85], [90, 0.95], [95, 1]),
  /**
   * z against the person's own baseline: resting heart rate differs between people, hardly within one (Quer 2020). Below the own
   * middle too, lower is more rested (Buchheit 2014).
   */
  resting_heart_rate: curve([-1, 1], [0, 0.9], [0.5, 0.8], [1, 0.65], [2, 0.4], [3, 0.2], [4, 0.05]),
  /**
   * z of the logarithm. The smallest worthwhile change is half a deviation (Plews 2013, Buchheit 2014), so the score falls
   * through the usual range too; far above it parasympathetic saturation is no better.
   */
  heart_rate_variability: curve([-3, 0.1], [-2, 0.3], [-1, 0.6], [-0.5, 0.75], [0, 0.85], [1, 1], [2, 1], [3, 0.9]),
  /** z of a night's minutes (asleep, deep, REM) against the own nights: for readiness, the own usual night is the goal. */
  own_night: curve([-3, 0.1], [-2, 0.3], [-1, 0.65], [0, 0.9], [1, 1]),
  /** Recent over habitual load (Williams 2017). No predictor of injury (Impellizzeri 2020). */
  strain_capacity: curve([0.5, 0.8], [0.8, 1], [1.3, 1], [1.5, 0.75], [2, 0.4], [3, 0.1]),
}

export const scorePowers = { active_calories: 0.8, physical_recovery: 0.9 } as const
/** Nobody's days are more alike than this: beats, a share (on the logarithm), and minutes. */
export const spreadMin = {
  resting_heart_rate: 1.5,
  heart_rate_variability: 0.05,
  sleep_duration: 20,
  physical_recovery: 8,
  mental_recovery: 10,
} as const

export const factorUnits = {
  steps: 'count',
  active_hours: 'hour',
  active_calories: 'kcal',
  intense_activity_duration: 'minute',
  extended_inactivity: 'minute',
  floors_climbed: 'floor',
  activity_regularity: 'index',
  sleep_duration: 'minute',
  sleep_regularity: 'index',
  sleep_continuity: 'minute',
  sleep_efficiency: 'percent',
  sleep_debt: 'hour',
  circadian_alignment: 'minute',
  physical_recovery: 'minute',
  mental_recovery: 'minute',
  walking_strain_capacity: 'index',
  exercise_strain_capacity: 'index',
  resting_heart_rate: 'bpm',
  heart_rate_variability: 'ms',
} as const

export type FactorName = keyof typeof factorUnits

/** Object.keys widens the names to strings; here alone they are narrowed again. */
export const factorNames = Object.keys(factorUnits) as readonly FactorName[]

/** Factors that come from the vitals of the day. */
export const vitalFactorNames: readonly FactorName[] = ['resting_heart_rate', 'heart_rate_variability']

export const factorGoals = {
  active_hours: 12,
  active_calories: 500,
  intense_activity_duration: 30,
  extended_inactivity: 240,
  floors_climbed: 10,
  activity_regularity: 1,
  sleep_regularity: 1,
  sleep_continuity: 0,
  sleep_efficiency: 90,
  sleep_debt: 0,
  circadian_alignment: 30,
  physical_recovery: 90,
  mental_recovery: 120,
  walking_strain_capacity: 1,
  exercise_strain_capacity: 1,
} as const
