import type { BiomarkerType } from './biomarker-catalogue.ts'
import type { DayFacts, MovementFacts, NightFacts } from './facts.ts'
import { isoAt } from './local-time.ts'
import { ageOn, sexOf } from './log.ts'
import { keepDays, windows } from './model.ts'
import { sleepDebt, sleepRegularity } from './nights.ts'
import { lastMeasure, type Series } from './series.ts'

/** A biomarker's value on a day, as a number, or as text where it is none. */
export type Reading = { readonly type: BiomarkerType; readonly value: number | string; readonly estimated: boolean }

type Values = Partial<Record<BiomarkerType, number | string | null>>

/** Every biomarker of a day. `facts` are the day's own, also of a day that is not over. */
export function readingsOn(series: Series, facts: DayFacts): Reading[] {
  const { movement, night } = facts
  return [
    ...(movement?.valid ? readings(movementValues(movement), false) : []),
    ...(movement?.valid && movement.wakingGuessed && movement.sedentary !== null
      ? readings({ activity_sedentary_duration: movement.sedentary }, true)
      : readings({ activity_sedentary_duration: movement?.valid ? movement.sedentary : null }, false)),
    ...(night ? readings(nightValues(series, facts.day, night), night.estimated) : []),
    ...vitalReadings(facts),
    ...bodyReadings(series, facts),
    ...readings(characteristics(series, facts.day), false),
  ]
}

function readings(values: Values, estimated: boolean): Reading[] {
  // Object.entries widens the keys to strings.
  return (Object.entries(values) as [BiomarkerType, number | string | null][]).flatMap(([type, value]) =>
    value === null ? [] : [{ type, value, estimated }],
  )
}

function movementValues(movement: MovementFacts): Values {
  const { low, medium, high } = movement
  return {
    steps: movement.steps,
    floors_climbed: movement.floors,
    active_hours: movement.activeHours,
    active_duration: low === null || medium === null || high === null ? null : low + medium + high,
    activity_low_intensity_duration: low,
    activity_medium_intensity_duration: medium,
    activity_high_intensity_duration: high,
    active_energy_burned: movement.activeEnergy,
    total_energy_burned: movement.totalEnergy,
    resting_energy_burned: movement.restingEnergy,
  }
}

function nightValues(series: Series, day: number, night: NightFacts): Values {
  const { days, ...gates } = windows.regularity
  return {
    sleep_start_time: isoAt(night.onsetAt, night.offset),
    sleep_mid_time: isoAt((night.onsetAt + night.wakeAt) / 2, night.offset),
    sleep_end_time: isoAt(night.wakeAt, night.offset),
    sleep_duration: night.duration,
    sleep_debt: sleepDebt(series, day),
    sleep_interruptions: night.interruptions,
    sleep_in_bed_duration: night.inBed,
    sleep_awake_duration: night.awake,
    sleep_light_duration: night.light,
    sleep_rem_duration: night.rem,
    sleep_deep_duration: night.deep,
    sleep_regularity: sleepRegularity(series.between(day - days + 1, day), gates),
    sleep_latency: night.latency,
    sleep_efficiency: night.efficiency === null ? null : night.efficiency * 100,
  }
}

const vitals = [
  'heart_rate_resting',
  'heart_rate_sleep',
  'heart_rate_variability_sdnn',
  'heart_rate_variability_rmssd',
  'respiratory_rate',
  'respiratory_rate_sleep',
  'oxygen_saturation',
  'oxygen_saturation_sleep',
  'blood_glucose',
  'blood_pressure_systolic',
  'blood_pressure_diastolic',
  'body_temperature_basal',
  'skin_temperature_sleep',
] as const

function vitalReadings({ measures }: DayFacts): Reading[] {
  return vitals.flatMap((type) => {
    const measure = measures[type]
    return measure ? [{ type, value: measure.value, estimated: measure.estimated ?? false }] : []
  })
}

/** Body measures stay known for a month, a height for good; the rest is computed from those. */
function bodyReadings(series: Series, { day, movement }: DayFacts): Reading[] {
  const kept = (name: string, keptDays: number) => lastMeasure(series, day, { name, keptDays })?.value ?? null
  const height = kept('height', Number.POSITIVE_INFINITY)
  const weight = kept('weight', keepDays.body)
  const fat = kept('body_fat', keepDays.body)
  const fatMass = weight !== null && fat !== null ? (weight * fat) / 100 : null
  const index = weight !== null && height !== null && height > 0 ? weight / height ** 2 : null
  return readings(
    {
      height,
      weight,
      body_mass_index: index ?? kept('body_mass_index', keepDays.body),
      body_fat: fat,
      fat_mass: fatMass,
      lean_mass: kept('lean_mass', keepDays.body) ?? (weight !== null && fatMass !== null ? weight - fatMass : null),
      waist_circumference: kept('waist_circumference', keepDays.body),
      ...(movement?.restingEnergy ? {} : { resting_energy_burned: kept('resting_energy_burned', keepDays.body) }),
      vo2_max: kept('vo2_max', keepDays.vo2Max),
    },
    false,
  )
}

function characteristics(series: Series, day: number): Values {
  return {
    age: ageOn(series.person, day),
    biological_sex: sexOf(series.person),
    date_of_birth: series.person.birthDate === null ? null : `${series.person.birthDate}T00:00:00+00:00`,
  }
}
