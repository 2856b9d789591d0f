import { biomarkerTypes } from '../../../base/contract/biomarker.ts'
import { isoText } from '../../../base/time/local-time.ts'
import type { DayFacts, MovementFacts, NightFacts } from '../day/facts.ts'
import type { BiomarkerType } from '../model/biomarker-catalogue.ts'
import { ageOn, sexOf } from '../model/demographics.ts'
import { knownForDays, lookBacks } from '../model/model.ts'
import { vo2MaxAges, vo2MaxExpected } from '../model/norms.ts'
import { type DaySeries, lastMeasure } from './day-series.ts'
import { chronotype, sleepDebt, sleepRegularity, stageMinutes } from './sleep-over-days.ts'

/** A biomarker's value on a day: a number, or a text such as a date. */
export type BiomarkerValue = {
  readonly type: BiomarkerType
  readonly value: number | string
  readonly estimated: boolean
}

type Values = Partial<Record<BiomarkerType, number | string | null>>

/** Every biomarker of a day. `facts` are the facts of that day, also while it is not over. */
export function biomarkerValuesOn(series: DaySeries, facts: DayFacts): BiomarkerValue[] {
  const { movement, night } = facts
  return [
    ...(movement?.valid ? withEstimated(movementValues(movement), false) : []),
    ...(movement?.valid && movement.wakingGuessed && movement.sedentary !== null
      ? withEstimated({ activity_sedentary_duration: movement.sedentary }, true)
      : withEstimated({ activity_sedentary_duration: movement?.valid ? movement.sedentary : null }, false)),
    ...(night ? withEstimated(nightValues(series, facts.day, night), night.estimated) : []),
    ...(facts.naps ? withEstimated({ nap_duration: facts.naps.value }, facts.naps.estimated ?? false) : []),
    ...vitalValues(facts),
    ...bodyValues(series, facts),
    ...withEstimated(characteristics(series, facts.day), false),
  ]
}

function withEstimated(values: Values, estimated: boolean): BiomarkerValue[] {
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

function nightValues(series: DaySeries, day: number, night: NightFacts): Values {
  const { days, ...minimums } = lookBacks.regularity
  const awake = stageMinutes(series, day, 'awake')
  return {
    sleep_start_time: isoText(night.onsetAt, night.offset),
    sleep_mid_time: isoText((night.onsetAt + night.wakeAt) / 2, night.offset),
    sleep_end_time: isoText(night.wakeAt, night.offset),
    sleep_duration: night.duration,
    sleep_debt: sleepDebt(series, day),
    sleep_interruptions: awake === null ? null : night.interruptions,
    sleep_in_bed_duration: night.inBed,
    sleep_awake_duration: awake,
    sleep_light_duration: stageMinutes(series, day, 'light'),
    sleep_rem_duration: stageMinutes(series, day, 'rem'),
    sleep_deep_duration: stageMinutes(series, day, 'deep'),
    sleep_regularity: sleepRegularity(series.between(day - days + 1, day), minimums),
    sleep_latency: night.latency,
    sleep_efficiency: night.efficiency === null ? null : night.efficiency * 100,
    chronotype: chronotype(series, day),
  }
}

/** Vitals that are known on their own day only. VO2max stays known and is read with the measures of the body. */
const sameDayVitals = biomarkerTypes.vitals.filter((type) => type !== 'vo2_max')

function vitalValues({ measures }: DayFacts): BiomarkerValue[] {
  return sameDayVitals.flatMap((type) => {
    const measure = measures[type]
    return measure ? [{ type, value: measure.value, estimated: measure.estimated ?? false }] : []
  })
}

/** Body measures stay known for a month, a height for good. Fat mass, lean mass and body mass index follow from them. */
function bodyValues(series: DaySeries, { day, movement }: DayFacts): BiomarkerValue[] {
  const known = (name: string, daysMax: number) => lastMeasure(series, day, { name, daysMax })?.value ?? null
  const height = known('height', Number.POSITIVE_INFINITY)
  const weight = known('weight', knownForDays.body)
  const fat = known('body_fat', knownForDays.body)
  const fatMass = weight !== null && fat !== null ? (weight * fat) / 100 : null
  const index = weight !== null && height !== null && height > 0 ? weight / height ** 2 : null
  const body = {
    height,
    weight,
    body_mass_index: index ?? known('body_mass_index', knownForDays.body),
    body_fat: fat,
    fat_mass: fatMass,
    lean_mass: known('lean_mass', knownForDays.body) ?? (weight !== null && fatMass !== null ? weight - fatMass : null),
    waist_circumference: known('waist_circumference', knownForDays.body),
    ...(movement?.restingEnergy ? {} : { resting_energy_burned: known('resting_energy_burned', knownForDays.body) }),
  }
  const measured = known('vo2_max', knownForDays.vo2Max)
  const vo2Max = measured ?? estimatedVo2Max(series, day, weight)
  return [...withEstimated(body, false), ...withEstimated({ vo2_max: vo2Max }, measured === null)]
}

/** The average of people of this age, sex and weight, where the norm covers the age. An estimate, not a measurement. */
function estimatedVo2Max({ demographics }: DaySeries, day: number, weightKg: number | null): number | null {
  const [sex, age] = [sexOf(demographics), ageOn(demographics, day)]
  const [youngest, oldest] = vo2MaxAges
  if (sex === null || age === null || weightKg === null || age < youngest || age > oldest) return null
  return vo2MaxExpected({ sex, age, weightKg })
}

function characteristics(series: DaySeries, day: number): Values {
  return {
    age: ageOn(series.demographics, day),
    biological_sex: sexOf(series.demographics),
    date_of_birth: series.demographics.birthDate === null ? null : `${series.demographics.birthDate}T00:00:00+00:00`,
  }
}
