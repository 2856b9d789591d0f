import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant-schemas.ts'
import { periodicityQueryShape, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { uuidSchema } from './text.ts'

export const biomarkerTypes = {
  activity: [
    'steps',
    'floors_climbed',
    'active_hours',
    'active_duration',
    'activity_low_intensity_duration',
    'activity_medium_intensity_duration',
    'activity_high_intensity_duration',
    'activity_sedentary_duration',
    'active_energy_burned',
    'total_energy_burned',
  ],
  body: [
    'height',
    'weight',
    'body_mass_index',
    'body_fat',
    'fat_mass',
    'lean_mass',
    'waist_circumference',
    'resting_energy_burned',
  ],
  characteristic: ['age', 'biological_sex', 'date_of_birth'],
  sleep: [
    'sleep_start_time',
    'sleep_mid_time',
    'sleep_end_time',
    'sleep_duration',
    'sleep_debt',
    'sleep_interruptions',
    'sleep_in_bed_duration',
    'sleep_awake_duration',
    'sleep_light_duration',
    'sleep_rem_duration',
    'sleep_deep_duration',
    'sleep_regularity',
    'sleep_latency',
    'sleep_efficiency',
  ],
  vitals: [
    'heart_rate_resting',
    'heart_rate_sleep',
    'heart_rate_variability_sdnn',
    'heart_rate_variability_rmssd',
    'respiratory_rate',
    'respiratory_rate_sleep',
    'oxygen_saturation',
    'oxygen_saturation_sleep',
    'vo2_max',
    'blood_glucose',
    'blood_pressure_systolic',
    'blood_pressure_diastolic',
    'body_temperature_basal',
    'skin_temperature_sleep',
  ],
} as const

const biomarkerCategories = ['activity', 'body', 'characteristic', 'sleep', 'vitals'] as const
const biomarkerPeriodicities = ['intraday', 'daily', 'weekly'] as const

export const biomarkerQuerySchema = withOrderedEnds(
  z.object({
    ...windowQueryShape,
    types: wordListSchema.optional(),
    categories: wordListSchema.optional(),
    ...periodicityQueryShape,
  }),
)

/** `value` is always a string; `valueType` says how to parse it. `estimated` is true when the value was not measured. */
export const biomarkerAnswerSchema = z.strictObject({
  id: uuidSchema,
  category: z.enum(biomarkerCategories),
  type: z.string(),
  periodicity: z.enum(biomarkerPeriodicities),
  aggregation: z.enum(['total', 'average', 'none']),
  value: z.string(),
  unit: z.string(),
  valueType: z.enum(['integer', 'double', 'datetime', 'string']),
  startDateTime: answeredInstantSchema,
  endDateTime: answeredInstantSchema,
  estimated: z.boolean().optional(),
})

export const receivedBiomarkerSchema = z.looseObject({
  id: z.string().optional(),
  category: z.string().nullish(),
  type: z.string().min(1),
  periodicity: z.string().nullish(),
  aggregation: z.string().nullish(),
  value: z.union([z.string(), z.number(), z.boolean()]).nullish(),
  unit: z.string().nullish(),
  valueType: z.string().nullish(),
  startDateTime: instantSchema,
  endDateTime: instantSchema,
})
