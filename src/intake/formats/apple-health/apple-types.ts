import { leftOutRows } from '../declared-format.ts'
import type { MappingRow } from '../export-format.ts'
import type { MeasureName } from '../measures.ts'

const quantityPrefix = 'HKQuantityTypeIdentifier'

/** Apple's quantity types. Percentages are written from 0 to 1. */
const quantities: Readonly<Record<string, MeasureName>> = {
  StepCount: 'steps',
  FlightsClimbed: 'floors_climbed',
  AppleStandTime: 'stand_time',
  AppleMoveTime: 'move_time',
  AppleExerciseTime: 'exercise_time',
  WalkingSpeed: 'walking_speed',
  RunningSpeed: 'running_speed',
  WalkingStepLength: 'walking_step_length',
  SixMinuteWalkTestDistance: 'six_minute_walk_test_distance',
  AppleWalkingSteadiness: 'walking_steadiness',
  WalkingAsymmetryPercentage: 'walking_asymmetry_percentage',
  RunningPower: 'running_power',
  HeartRate: 'heart_rate',
  RestingHeartRate: 'resting_heart_rate',
  WalkingHeartRateAverage: 'walking_heart_rate_average',
  HeartRateVariabilitySDNN: 'heart_rate_variability_sdnn',
  BloodGlucose: 'blood_glucose',
  BloodPressureSystolic: 'blood_pressure_systolic',
  BloodPressureDiastolic: 'blood_pressure_diastolic',
  OxygenSaturation: 'oxygen_saturation',
  VO2Max: 'vo2_max',
  RespiratoryRate: 'respiratory_rate',
  ActiveEnergyBurned: 'active_energy_burned',
  BasalEnergyBurned: 'basal_energy_burned',
  TimeInDaylight: 'time_in_daylight',
  BodyTemperature: 'body_temperature',
  BasalBodyTemperature: 'basal_body_temperature',
  AppleSleepingWristTemperature: 'sleeping_wrist_temperature',
  Height: 'height',
  WaistCircumference: 'waist_circumference',
  BodyMass: 'weight',
  LeanBodyMass: 'lean_body_mass',
  BodyMassIndex: 'body_mass_index',
  BodyFatPercentage: 'body_fat',
}

/** The measures by their names with Apple's prefix. */
const withPrefix = (measures: Readonly<Record<string, MeasureName>>, prefix: string) =>
  new Map(Object.entries(measures).map(([name, measure]) => [`${prefix}${name}`, measure]))

const quantitiesByType = withPrefix(quantities, quantityPrefix)

export const quantityMeasure = (type: string) => quantitiesByType.get(type)

export const sleepType = 'HKCategoryTypeIdentifierSleepAnalysis'
const sleepPrefix = 'HKCategoryValueSleepAnalysis'

const sleepValues: Readonly<Record<string, MeasureName>> = {
  InBed: 'sleep_stage_in_bed',
  Asleep: 'sleep_stage_sleeping',
  AsleepUnspecified: 'sleep_stage_sleeping',
  AsleepCore: 'sleep_stage_light',
  AsleepDeep: 'sleep_stage_deep',
  AsleepREM: 'sleep_stage_rem',
  Awake: 'sleep_stage_awake',
}

const sleepByValue = withPrefix(sleepValues, sleepPrefix)

export const sleepMeasure = (value: string) => sleepByValue.get(value)

/** Apple's names of exercises that differ from ours by more than their spelling. */
const exercises: Readonly<Record<string, string>> = {
  traditional_strength_training: 'strength_training',
  functional_strength_training: 'strength_training',
  mixed_metabolic_cardio_training: 'mixed_cardio',
  mind_and_body: 'mind_and_body',
  stairs: 'stair_climbing',
}

const exercisePrefix = 'HKWorkoutActivityType'

/** `HKWorkoutActivityTypeTraditionalStrengthTraining` is `strength_training`. */
export function exerciseName(type: string): string {
  const name = type.startsWith(exercisePrefix) ? type.slice(exercisePrefix.length) : 'other'
  const exercise = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
  if (!/^[a-z0-9_]{1,60}$/.test(exercise)) return 'other'
  return Object.hasOwn(exercises, exercise) ? (exercises[exercise] ?? exercise) : exercise
}

export const appleMapping: readonly MappingRow[] = [
  ...Object.entries(quantities).map(([name, to]) => ({ from: `${quantityPrefix}${name}`, to })),
  ...Object.entries(sleepValues).map(([name, to]) => ({
    from: `${sleepType} ${sleepPrefix}${name}`,
    to,
    units: 'from start to end',
  })),
  {
    from: 'Workout',
    to: 'exercise_session_<type>',
    units: 'from start to end',
    note: 'energy and distance are properties of the session: records of their own hold them as well',
  },
  ...leftOutRows([
    [
      `${sleepType} ${sleepPrefix}InBed from the bedtime that was set to the alarm`,
      'the schedule of the person’s settings: nothing measured it',
    ],
    ['ActivitySummary', 'days’ sums of records that are there'],
    ['Correlation', 'its records stand on the top level as well, and are read there and here as one'],
    ['Me', 'demographics: give them with vitalsync import demographics'],
    ['any other Record', 'nothing is derived from it'],
    [
      'export_cda.xml, electrocardiograms',
      'the same records in another form; curves of the heart',
      /(^|\/)export_cda[^/]*\.xml$|(^|\/)electrocardiograms\/[^/]*\.csv$/,
    ],
  ]),
]
