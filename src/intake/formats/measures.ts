import type { DataLogInput } from '../../base/contract/data-log.ts'

/** The log type of a data type, its unit, and the values that a person can have. */
type Measure = {
  readonly logType: DataLogInput['logType']
  readonly unit: string
  readonly low: number
  readonly high: number
  /** The most that may come together in a minute, of a count. */
  readonly perMinuteMax?: number
}

/** The longest that one log may last is a day, so a day is the most minutes that a stage or a session may have. */
const DAY_MINUTES = 24 * 60
const stage = { logType: 'sleep', unit: 'minute', low: 0, high: DAY_MINUTES } as const
const minutesOf = { logType: 'activity', unit: 'minute', low: 0, high: DAY_MINUTES } as const
const kilocalories = { logType: 'energy', unit: 'kcal', low: 0, high: 20_000, perMinuteMax: 50 } as const
const kilograms = { logType: 'body', unit: 'kg', low: 0.3, high: 400 } as const

/** The measures that a health export is mapped to. Exercise sessions, an open set, are `sessionMeasure`. */
const measures = {
  steps: { logType: 'activity', unit: 'count', low: 0, high: 200_000, perMinuteMax: 300 },
  floors_climbed: { logType: 'activity', unit: 'count', low: 0, high: 5000, perMinuteMax: 60 },
  stand_time: minutesOf,
  move_time: minutesOf,
  exercise_time: minutesOf,
  active_minutes: minutesOf,
  active_zone_minutes: minutesOf,
  walking_speed: { logType: 'activity', unit: 'm/s', low: 0, high: 8 },
  running_speed: { logType: 'activity', unit: 'm/s', low: 0, high: 15 },
  walking_step_length: { logType: 'activity', unit: 'm', low: 0.05, high: 2.5 },
  six_minute_walk_test_distance: { logType: 'activity', unit: 'm', low: 0, high: 1200 },
  walking_steadiness: { logType: 'activity', unit: 'percent', low: 0, high: 100 },
  walking_asymmetry_percentage: { logType: 'activity', unit: 'percent', low: 0, high: 100 },
  running_power: { logType: 'activity', unit: 'watt', low: 0, high: 3000 },
  sleep_stage_unknown: stage,
  sleep_stage_in_bed: stage,
  sleep_stage_awake: stage,
  sleep_stage_sleeping: stage,
  sleep_stage_light: stage,
  sleep_stage_deep: stage,
  sleep_stage_rem: stage,
  sleep_stage_out_of_bed: stage,
  heart_rate: { logType: 'heart', unit: 'bpm', low: 25, high: 250 },
  resting_heart_rate: { logType: 'heart', unit: 'bpm', low: 25, high: 150 },
  walking_heart_rate_average: { logType: 'heart', unit: 'bpm', low: 25, high: 250 },
  heart_rate_variability_sdnn: { logType: 'heart', unit: 'ms', low: 1, high: 500 },
  heart_rate_variability_rmssd: { logType: 'heart', unit: 'ms', low: 1, high: 500 },
  blood_glucose: { logType: 'blood', unit: 'mmol/L', low: 0.5, high: 60 },
  blood_pressure_systolic: { logType: 'blood', unit: 'mmHg', low: 40, high: 300 },
  blood_pressure_diastolic: { logType: 'blood', unit: 'mmHg', low: 20, high: 200 },
  oxygen_saturation: { logType: 'oxygen', unit: 'percent', low: 50, high: 100 },
  vo2_max: { logType: 'oxygen', unit: 'mL/kg/min', low: 5, high: 100 },
  respiratory_rate: { logType: 'oxygen', unit: 'breath/min', low: 3, high: 80 },
  active_energy_burned: kilocalories,
  basal_energy_burned: kilocalories,
  total_energy_burned: kilocalories,
  basal_metabolic_rate: { logType: 'energy', unit: 'kcal/day', low: 300, high: 10_000 },
  time_in_daylight: { logType: 'energy', unit: 'minute', low: 0, high: DAY_MINUTES },
  body_temperature: { logType: 'temperature', unit: 'degC', low: 30, high: 45 },
  basal_body_temperature: { logType: 'temperature', unit: 'degC', low: 30, high: 45 },
  sleeping_wrist_temperature: { logType: 'temperature', unit: 'degC', low: 20, high: 45 },
  height: { logType: 'body', unit: 'm', low: 0.3, high: 2.8 },
  waist_circumference: { logType: 'body', unit: 'm', low: 0.2, high: 3 },
  weight: kilograms,
  lean_body_mass: kilograms,
  body_water_mass: kilograms,
  bone_mass: kilograms,
  body_mass_index: { logType: 'body', unit: 'count', low: 5, high: 150 },
  body_fat: { logType: 'body', unit: 'percent', low: 1, high: 90 },
} as const satisfies Record<string, Measure>

export type MeasureName = keyof typeof measures
export type SessionName = `exercise_session_${string}`

const sessionMeasure: Measure = { logType: 'exercise', unit: 'minute', low: 0, high: DAY_MINUTES }

const measuresByName: ReadonlyMap<string, Measure> = new Map(Object.entries(measures))

export const measureOf = (dataType: MeasureName | SessionName): Measure =>
  measuresByName.get(dataType) ?? sessionMeasure

/** Why a value cannot be a person's, without the value; undefined when it can. */
export function implausible(dataType: MeasureName | SessionName, value: number, minutes: number): string | undefined {
  const { low, high, perMinuteMax } = measureOf(dataType)
  if (!(value >= low && value <= high)) return `${dataType} lies outside ${low} to ${high}`
  if (perMinuteMax === undefined || value <= perMinuteMax * Math.max(1, minutes)) return undefined
  return `${dataType} is more than ${perMinuteMax} a minute`
}
