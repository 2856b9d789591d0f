import { closestWord } from '../text/closest-word.ts'

/** The data types of logs that have a meaning, by log type. Others are stored, and nothing is derived from them. */
const dataTypes: Readonly<Record<string, readonly string[]>> = {
  activity: [
    'steps',
    'floors_climbed',
    'stand_time',
    'move_time',
    'exercise_time',
    'active_minutes',
    'active_zone_minutes',
    'running_speed',
    'walking_speed',
    'walking_step_length',
    'six_minute_walk_test_distance',
    'walking_steadiness',
    'walking_asymmetry_percentage',
    'running_power',
  ],
  sleep: ['unknown', 'in_bed', 'awake', 'awake_in_or_out_of_bed', 'sleeping', 'light', 'deep', 'rem', 'out_of_bed'].map(
    (stage) => `sleep_stage_${stage}`,
  ),
  heart: [
    'heart_rate',
    'resting_heart_rate',
    'walking_heart_rate_average',
    'heart_rate_variability_sdnn',
    'heart_rate_variability_rmssd',
  ],
  blood: ['blood_glucose', 'blood_pressure_systolic', 'blood_pressure_diastolic'],
  oxygen: ['oxygen_saturation', 'vo2_max', 'respiratory_rate'],
  energy: [
    'active_energy_burned',
    'basal_energy_burned',
    'total_energy_burned',
    'basal_metabolic_rate',
    'time_in_daylight',
  ],
  temperature: ['body_temperature', 'basal_body_temperature', 'sleeping_wrist_temperature'],
  body: [
    'height',
    'waist_circumference',
    'weight',
    'lean_body_mass',
    'body_water_mass',
    'bone_mass',
    'body_mass_index',
    'body_fat',
  ],
  device: ['device_lock'],
}
const known = new Set(Object.values(dataTypes).flat())
const exercisePrefixes = ['exercise_session_', 'exercise_event_', 'exercise_segment_']

/** A type from which nothing is derived, and the known type that is nearly the same. */
export type StrangeType = { readonly type: string; readonly closest: string | undefined }

/**
 * Undefined for a known type, and for a log of a log type whose data types are an open set: nutrition, symptom,
 * reproductive and demographic.
 */
export function strangeDataType({ logType, dataType }: Readonly<Record<string, unknown>>): StrangeType | undefined {
  if (typeof logType !== 'string' || typeof dataType !== 'string' || known.has(dataType)) return undefined
  if (exercisePrefixes.some((prefix) => dataType.startsWith(prefix))) return undefined
  if (logType !== 'exercise' && !Object.hasOwn(dataTypes, logType)) return undefined
  const word = dataType.toLowerCase()
  return { type: dataType, closest: known.has(word) ? word : closestWord(word, [...known]) }
}
