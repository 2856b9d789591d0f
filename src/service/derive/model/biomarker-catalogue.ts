/** The form of each biomarker's record. It follows from the type, never from the value. */
export type BiomarkerForm = {
  readonly category: 'activity' | 'body' | 'characteristic' | 'sleep' | 'vitals'
  readonly unit: string
  readonly valueType: 'integer' | 'double' | 'datetime' | 'string'
  readonly aggregation: 'total' | 'average' | 'none'
}

const form = (category: BiomarkerForm['category'], unit: string, rest: Omit<BiomarkerForm, 'category' | 'unit'>) => ({
  category,
  unit,
  ...rest,
})
const total = { valueType: 'integer', aggregation: 'total' } as const
const totalDouble = { valueType: 'double', aggregation: 'total' } as const
const average = { valueType: 'double', aggregation: 'average' } as const
const single = { valueType: 'double', aggregation: 'none' } as const
const moment = { valueType: 'datetime', aggregation: 'none' } as const

export const biomarkerForms = {
  steps: form('activity', 'count', total),
  floors_climbed: form('activity', 'count', total),
  active_hours: form('activity', 'hour', total),
  active_duration: form('activity', 'minute', total),
  activity_low_intensity_duration: form('activity', 'minute', total),
  activity_medium_intensity_duration: form('activity', 'minute', total),
  activity_high_intensity_duration: form('activity', 'minute', total),
  activity_sedentary_duration: form('activity', 'minute', total),
  active_energy_burned: form('activity', 'kcal', totalDouble),
  total_energy_burned: form('activity', 'kcal', totalDouble),
  height: form('body', 'm', single),
  weight: form('body', 'kg', single),
  body_mass_index: form('body', 'kg/m2', single),
  body_fat: form('body', 'percent', single),
  fat_mass: form('body', 'kg', single),
  lean_mass: form('body', 'kg', single),
  waist_circumference: form('body', 'm', single),
  resting_energy_burned: form('body', 'kcal', totalDouble),
  age: form('characteristic', 'year', { valueType: 'integer', aggregation: 'none' }),
  biological_sex: form('characteristic', 'none', { valueType: 'string', aggregation: 'none' }),
  date_of_birth: form('characteristic', 'date', moment),
  sleep_start_time: form('sleep', 'datetime', moment),
  sleep_mid_time: form('sleep', 'datetime', moment),
  sleep_end_time: form('sleep', 'datetime', moment),
  sleep_duration: form('sleep', 'minute', total),
  sleep_debt: form('sleep', 'hour', totalDouble),
  sleep_interruptions: form('sleep', 'count', total),
  sleep_in_bed_duration: form('sleep', 'minute', total),
  sleep_awake_duration: form('sleep', 'minute', total),
  sleep_light_duration: form('sleep', 'minute', total),
  sleep_rem_duration: form('sleep', 'minute', total),
  sleep_deep_duration: form('sleep', 'minute', total),
  sleep_regularity: form('sleep', 'index', average),
  sleep_latency: form('sleep', 'minute', total),
  sleep_efficiency: form('sleep', 'percent', average),
  nap_duration: form('sleep', 'minute', total),
  chronotype: form('sleep', 'hour', single),
  heart_rate_resting: form('vitals', 'bpm', average),
  heart_rate_sleep: form('vitals', 'bpm', average),
  heart_rate_variability_sdnn: form('vitals', 'ms', average),
  heart_rate_variability_rmssd: form('vitals', 'ms', average),
  respiratory_rate: form('vitals', 'breath/min', average),
  respiratory_rate_sleep: form('vitals', 'breath/min', average),
  oxygen_saturation: form('vitals', 'percent', average),
  oxygen_saturation_sleep: form('vitals', 'percent', average),
  vo2_max: form('vitals', 'mL/kg/min', single),
  blood_glucose: form('vitals', 'mmol/L', average),
  blood_pressure_systolic: form('vitals', 'mmHg', average),
  blood_pressure_diastolic: form('vitals', 'mmHg', average),
  body_temperature_basal: form('vitals', 'degC', average),
  skin_temperature_sleep: form('vitals', 'degC', average),
} as const satisfies Record<string, BiomarkerForm>

export type BiomarkerType = keyof typeof biomarkerForms
