import { biomarkerTypes } from '../../contract/biomarker.ts'
import type { BiomarkerType } from './biomarker-catalogue.ts'
import type { DayFacts, MovementFacts, NightFacts } from './facts.ts'
import { isoAt } from './local-time.ts'
import { ageOn, sexOf } from './log.ts'
import { keepDays, windows } from './model.ts'
import { chronotype, sleepDebt, sleepRegularity } from './nights.ts'
import { vo2MaxAges, vo2MaxExpected } from './norms.ts'
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
    ...(facts.naps ? readings({ nap_duration: facts.naps.value }, facts.naps.estimated ?? false) : []),
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
    chronotype: chronotype(series, day),
  }
}

/** Those that are known on their own day only; VO2max stays known, and is read with the body's measures. */
const vitals = biomarkerTypes.vitals.filter((type) => type !== 'vo2_max')

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
  const body = {
    height,
    weight,
    body_mass_index: index ?? kept('body_mass_index', keepDays.body),
    body_fat: fat,
    fat_mass: fatMass,
    lean_mass: kept('lean_mass', keepDays.body) ?? (weight !== null && fatMass !== null ? weight - fatMass : null),
    waist_circumference: kept('waist_circumference', keepDays.body),
    ...(movement?.restingEnergy ? {} : { resting_energy_burned: kept('resting_energy_burned', keepDays.body) }),
  }
  const measured = kept('vo2_max', keepDays.vo2Max)
  const vo2Max = measured ?? estimatedVo2Max(series, day, weight)
  return [...readings(body, false), ...readings({ vo2_max: vo2Max }, measured === null)]
}

/** What people of this age, sex and weight have on average, where the norm speaks of such an age; never a measurement. */
function estimatedVo2Max({ person }: Series, day: number, weightKg: number | null): number | null {
  const [sex, age] = [sexOf(person), ageOn(person, day)]
  const [youngest, oldest] = vo2MaxAges
  if (sex === null || age === null || weightKg === null || age < youngest || age > oldest) return null
  return vo2MaxExpected({ sex, age, weightKg })
}

function characteristics(series: Series, day: number): Values {
  return {
    age: ageOn(series.person, day),
    biological_sex: sexOf(series.person),
    date_of_birth: series.person.birthDate === null ? null : `${series.person.birthDate}T00:00:00+00:00`,
  }
}
