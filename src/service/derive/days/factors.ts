import type { DayFacts, MovementFacts, NightFacts } from '../day/facts.ts'
import { ageOn, sexOf } from '../model/demographics.ts'
import {
  type CurvePoints,
  type FactorName,
  factorGoals,
  factorUnits,
  lookBacks,
  scoreCurves,
  scorePowers,
  sleepNeed,
  spreadMin,
  stepsGoal,
} from '../model/model.ts'
import { restingHeartRates } from '../model/norms.ts'
import { interpolate, mean, median, medianDeviation, sum, weightedMean } from '../model/statistics.ts'
import { type DaySeries, personalBaseline, validMovements } from './day-series.ts'
import {
  circadianMisalignment,
  ownSleepNeed,
  sleepDebt,
  sleepNeedOf,
  sleepRegularity,
  stageMinutes,
} from './sleep-over-days.ts'

/** Mean of the intense minutes over those of the last seven days on which they are known. */
function meanIntenseMinutes(series: DaySeries, day: number): number | null {
  const { days, daysMin } = lookBacks.intensity
  const known = validMovements(series, day - days + 1, day).flatMap(({ intense }) => intense ?? [])
  return known.length >= daysMin ? mean(known) : null
}

/** How similar the days of two weeks are, in the number of steps and in their hours. 1 means the same every day. */
export function activityRegularity(series: DaySeries, day: number): number | null {
  const { days, daysMin } = lookBacks.pattern
  const today = series.at(day)?.movement
  const known = validMovements(series, day - days + 1, day).flatMap(({ steps, hourly }) =>
    steps === null || hourly === null ? [] : [{ steps, hourly }],
  )
  const steps = known.map((movement) => movement.steps)
  if (!today?.valid || !today.hourly || known.length < daysMin || median(steps) <= 0) return null
  const amount = 1 - Math.min(1, medianDeviation(steps) / median(steps))
  const usual = today.hourly.map((_, hour) => mean(known.map(({ hourly }) => hourly[hour] ?? 0)))
  return (amount + cosine(today.hourly, usual)) / 2
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => sum(x.map((value, index) => value * (y[index] ?? 0)))
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length > 0 ? Math.min(1, dot(a, b) / length) : 0
}

/**
 * Recent over habitual load up to the evening before: the ratio of two exponentially weighted means, of seven and of
 * twenty-eight days. It looks back sixty days at most, so that a change of one day reaches a bounded number of days.
 */
function strainRatio(
  series: DaySeries,
  day: number,
  loadOf: (movement: MovementFacts) => number | null,
): number | null {
  const rules = lookBacks.strain
  const movements = validMovements(series, day - rules.days, day - 1)
  const loads = movements.flatMap((movement) => loadOf(movement) ?? [])
  if (loads.length < rules.daysMin) return null
  const habitual = weightedMean(loads, rules.chronic)
  return habitual > 0 ? weightedMean(loads, rules.acute) / habitual : null
}

/**
 * A factor on one day. `basis`: whether it is judged against the person's own days or a population. `own`: the same value
 * judged against the own days, where the factor itself is judged against a goal for all.
 */
export type Factor = {
  readonly name: FactorName
  readonly value: number
  readonly goal: number
  readonly score: number
  readonly unit: string
  readonly basis?: 'personal' | 'population'
  readonly own?: { readonly goal: number; readonly score: number }
}

export type Factors = Partial<Record<FactorName, Factor>>

/** The score of a value on a curve; the goal is `scale` times the goal that the curve was made for. */
export function scoreOnCurve(points: CurvePoints, value: number, scale = 1): number {
  return interpolate(points, value / scale)
}

export function scoreByPower(value: number, goal: number, power: number): number {
  return Math.max(0, Math.min(1, value / goal)) ** power
}

/** Every factor for which enough is known on the day; all others are absent. */
export function factorsOn(series: DaySeries, day: number): Factors {
  const factors: Factors = {}
  for (const factor of [
    ...movementFactors(series, day),
    ...nightFactors(series, day),
    restingFactor(series, day),
    variabilityFactor(series, day),
  ]) {
    if (factor && Number.isFinite(factor.value)) factors[factor.name] = factor
  }
  return factors
}

/** A value with what it is judged against; null where it is not known. Stored: the order of the fields counts. */
function factorOf(
  name: FactorName,
  value: number | null | undefined,
  judge: (value: number) => { goal: number; score: number; basis?: Factor['basis'] | undefined },
): Factor | null {
  if (value === null || value === undefined) return null
  const { goal, score, basis } = judge(value)
  return { name, value, goal, score, unit: factorUnits[name], ...(basis && { basis }) }
}

type CurvedFactor = Exclude<keyof typeof scoreCurves, 'strain_capacity' | 'own_night'> & keyof typeof factorGoals

const curvedFactor = (name: CurvedFactor, known: number | null, basis?: Factor['basis']) =>
  factorOf(name, known, (value) => ({ goal: factorGoals[name], score: scoreOnCurve(scoreCurves[name], value), basis }))

const powerFactor = (name: keyof typeof scorePowers, known: number | null) =>
  factorOf(name, known, (value) => {
    const goal = factorGoals[name]
    return { goal, score: scoreByPower(value, goal, scorePowers[name]) }
  })

/** An index that is its own score. */
const indexFactor = (name: 'sleep_regularity' | 'activity_regularity', known: number | null) =>
  factorOf(name, known, (value) => ({ goal: factorGoals[name], score: Math.max(0, Math.min(1, value)) }))

const strainFactor = (name: 'walking_strain_capacity' | 'exercise_strain_capacity', known: number | null) =>
  factorOf(name, known, (value) => ({
    goal: factorGoals[name],
    score: scoreOnCurve(scoreCurves.strain_capacity, value),
    basis: 'personal',
  }))

function movementFactors(series: DaySeries, day: number): (Factor | null)[] {
  const movement = series.at(day)?.movement
  if (!movement?.valid) return []
  const age = ageOn(series.demographics, day)
  const goal = age !== null && age >= stepsGoal.fromAge ? stepsGoal.older : stepsGoal.usual
  const ofSteps = (steps: number) => scoreOnCurve(scoreCurves.steps, steps, goal / stepsGoal.usual)
  return [
    factorOf('steps', movement.steps, (steps) => ({ goal, score: ofSteps(steps) })),
    curvedFactor('active_hours', movement.activeHours),
    powerFactor('active_calories', movement.activeEnergy),
    curvedFactor('intense_activity_duration', meanIntenseMinutes(series, day)),
    curvedFactor('extended_inactivity', movement.stillness),
    curvedFactor('floors_climbed', movement.floors),
    indexFactor('activity_regularity', activityRegularity(series, day)),
  ]
}

function nightFactors(series: DaySeries, day: number): (Factor | null)[] {
  const night = series.at(day)?.night
  if (!night) return []
  const goal = sleepNeedOf(series.demographics, day)
  const { days, ...minimums } = lookBacks.regularity
  const awake = stageMinutes(series, day, 'awake')
  const duration = factorOf('sleep_duration', night.duration, (minutes) => ({
    goal,
    score: scoreOnCurve(scoreCurves.sleep_duration, minutes, goal / sleepNeed.usual.minutes),
  }))
  return [
    withOwnNights(series, day, duration),
    indexFactor('sleep_regularity', sleepRegularity(series.between(day - days + 1, day), minimums)),
    curvedFactor('sleep_continuity', awake === null ? null : night.awakeAfterOnset),
    curvedFactor('sleep_efficiency', night.efficiency === null ? null : night.efficiency * 100),
    curvedFactor('sleep_debt', sleepDebt(series, day), ownSleepNeed(series, day) === null ? 'population' : 'personal'),
    curvedFactor('circadian_alignment', circadianMisalignment(series, day)),
    withOwnNights(series, day, powerFactor('physical_recovery', stageMinutes(series, day, 'deep'))),
    withOwnNights(series, day, curvedFactor('mental_recovery', stageMinutes(series, day, 'rem'))),
    strainFactor(
      'walking_strain_capacity',
      strainRatio(series, day, ({ steps }) => steps),
    ),
    strainFactor(
      'exercise_strain_capacity',
      strainRatio(series, day, ({ exerciseLoad }) => exerciseLoad),
    ),
  ]
}

const ownNightMinutes = {
  sleep_duration: (night: NightFacts) => night.duration,
  physical_recovery: (night: NightFacts) => night.deep,
  mental_recovery: (night: NightFacts) => night.rem,
}

/** Judges a night's minutes against the person's own nights too, once enough of them are known. */
function withOwnNights(series: DaySeries, day: number, factor: Factor | null): Factor | null {
  const name = factor?.name
  if (name !== 'sleep_duration' && name !== 'physical_recovery' && name !== 'mental_recovery') return factor
  const baseline = personalBaseline(series, day, ({ night }) => night && ownNightMinutes[name](night))
  if (!factor || !baseline) return factor
  const z = (factor.value - baseline.middle) / Math.max(spreadMin[name], baseline.spread)
  return { ...factor, own: { goal: baseline.middle, score: scoreOnCurve(scoreCurves.own_night, z) } }
}

function restingFactor(series: DaySeries, day: number): Factor | null {
  return factorOf('resting_heart_rate', series.at(day)?.measures['heart_rate_resting']?.value, (value) => {
    const baseline = personalBaseline(series, day, ({ measures }) => measures['heart_rate_resting']?.value)
    const population = restingHeartRates[sexOf(series.demographics) ?? 'all']
    const { middle, spread } = baseline ?? { middle: population.mean, spread: population.spread }
    const z = (value - middle) / Math.max(spreadMin.resting_heart_rate, spread)
    const score = scoreOnCurve(scoreCurves.resting_heart_rate, z)
    return { goal: middle, score, basis: baseline ? 'personal' : 'population' }
  })
}

/** RMSSD where there is a baseline of it, else SDNN. The two are never mixed, and only the person's own baseline counts. */
function variabilityFactor(series: DaySeries, day: number): Factor | null {
  for (const name of ['heart_rate_variability_rmssd', 'heart_rate_variability_sdnn']) {
    const logarithm = ({ measures: { [name]: measure } }: DayFacts) => measure && Math.log(measure.value)
    const value = series.at(day)?.measures[name]?.value
    const baseline = personalBaseline(series, day, logarithm)
    if (value === undefined || value <= 0 || !baseline) continue
    const z = (Math.log(value) - baseline.middle) / Math.max(spreadMin.heart_rate_variability, baseline.spread)
    const score = scoreOnCurve(scoreCurves.heart_rate_variability, z)
    return factorOf('heart_rate_variability', value, () => ({
      goal: Math.exp(baseline.middle),
      score,
      basis: 'personal',
    }))
  }
  return null
}
