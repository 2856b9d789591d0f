import type { NightFacts } from '../day/facts.ts'
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
import { interpolate } from '../model/statistics.ts'
import type { DaySeries } from './day-series.ts'
import { activityRegularity, meanIntenseMinutes, personalBaseline, strainRatio } from './movement-over-days.ts'
import {
  circadianMisalignment,
  nightBaseline,
  ownSleepNeed,
  sleepDebt,
  sleepNeedOf,
  sleepRegularity,
  stageMinutes,
} from './sleep-over-days.ts'

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
  for (const factor of [...movementFactors(series, day), ...nightFactors(series, day), ...bodyFactors(series, day)]) {
    if (factor && Number.isFinite(factor.value)) factors[factor.name] = factor
  }
  return factors
}

type CurvedFactor = Exclude<keyof typeof scoreCurves, 'strain_capacity' | 'own_night'> & keyof typeof factorGoals

function curvedFactor(name: CurvedFactor, value: number | null | undefined): Factor | null {
  if (value === null || value === undefined) return null
  return {
    name,
    value,
    goal: factorGoals[name],
    score: scoreOnCurve(scoreCurves[name], value),
    unit: factorUnits[name],
  }
}

function powerFactor(name: keyof typeof scorePowers, value: number | null): Factor | null {
  if (value === null) return null
  const goal = factorGoals[name]
  return { name, value, goal, score: scoreByPower(value, goal, scorePowers[name]), unit: factorUnits[name] }
}

function movementFactors(series: DaySeries, day: number): (Factor | null)[] {
  const movement = series.at(day)?.movement
  if (!movement?.valid) return []
  const age = ageOn(series.demographics, day)
  const goal = age !== null && age >= stepsGoal.fromAge ? stepsGoal.older : stepsGoal.usual
  const { steps, activeEnergy } = movement
  return [
    steps === null
      ? null
      : {
          name: 'steps',
          value: steps,
          goal,
          score: scoreOnCurve(scoreCurves.steps, steps, goal / stepsGoal.usual),
          unit: factorUnits.steps,
        },
    curvedFactor('active_hours', movement.activeHours),
    powerFactor('active_calories', activeEnergy),
    curvedFactor('intense_activity_duration', meanIntenseMinutes(series, day)),
    curvedFactor('extended_inactivity', movement.stillness),
    curvedFactor('floors_climbed', movement.floors),
    indexFactor('activity_regularity', activityRegularity(series, day)),
  ]
}

function nightFactors(series: DaySeries, day: number): (Factor | null)[] {
  const night = series.at(day)?.night
  if (!night) return []
  const need = sleepNeedOf(series.demographics, day)
  const { days, ...minimums } = lookBacks.regularity
  return [
    withOwnNights(series, day, {
      name: 'sleep_duration',
      value: night.duration,
      goal: need,
      score: scoreOnCurve(scoreCurves.sleep_duration, night.duration, need / sleepNeed.usual.minutes),
      unit: factorUnits.sleep_duration,
    }),
    indexFactor('sleep_regularity', sleepRegularity(series.between(day - days + 1, day), minimums)),
    curvedFactor('sleep_continuity', stageMinutes(series, day, 'awake') === null ? null : night.awakeAfterOnset),
    curvedFactor('sleep_efficiency', night.efficiency === null ? null : night.efficiency * 100),
    withBasis(
      curvedFactor('sleep_debt', sleepDebt(series, day)),
      ownSleepNeed(series, day) === null ? 'population' : 'personal',
    ),
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
  const baseline = nightBaseline(series, day, ownNightMinutes[name])
  if (!factor || !baseline) return factor
  const z = (factor.value - baseline.middle) / Math.max(spreadMin[name], baseline.spread)
  return { ...factor, own: { goal: baseline.middle, score: scoreOnCurve(scoreCurves.own_night, z) } }
}

function withBasis(factor: Factor | null, basis: 'personal' | 'population'): Factor | null {
  return factor && { ...factor, basis }
}

/** An index that is its own score. */
function indexFactor(name: 'sleep_regularity' | 'activity_regularity', value: number | null): Factor | null {
  if (value === null) return null
  return { name, value, goal: factorGoals[name], score: Math.max(0, Math.min(1, value)), unit: factorUnits[name] }
}

function strainFactor(
  name: 'walking_strain_capacity' | 'exercise_strain_capacity',
  ratio: number | null,
): Factor | null {
  if (ratio === null) return null
  return {
    name,
    value: ratio,
    goal: factorGoals[name],
    score: scoreOnCurve(scoreCurves.strain_capacity, ratio),
    unit: factorUnits[name],
    basis: 'personal',
  }
}

function bodyFactors(series: DaySeries, day: number): (Factor | null)[] {
  return [restingFactor(series, day), variabilityFactor(series, day)]
}

function restingFactor(series: DaySeries, day: number): Factor | null {
  const value = series.at(day)?.measures['heart_rate_resting']?.value
  if (value === undefined) return null
  const baseline = personalBaseline(series, day, { name: 'heart_rate_resting', scale: (rate) => rate })
  const population = restingHeartRates[sexOf(series.demographics) ?? 'all']
  const { middle, spread } = baseline ?? { middle: population.mean, spread: population.spread }
  const z = (value - middle) / Math.max(spreadMin.resting_heart_rate, spread)
  return {
    name: 'resting_heart_rate',
    value,
    goal: middle,
    score: scoreOnCurve(scoreCurves.resting_heart_rate, z),
    unit: factorUnits.resting_heart_rate,
    basis: baseline ? 'personal' : 'population',
  }
}

/** RMSSD where there is a baseline of it, else SDNN. The two are never mixed, and only the person's own baseline counts. */
function variabilityFactor(series: DaySeries, day: number): Factor | null {
  for (const name of ['heart_rate_variability_rmssd', 'heart_rate_variability_sdnn']) {
    const value = series.at(day)?.measures[name]?.value
    const baseline = personalBaseline(series, day, { name, scale: Math.log })
    if (value === undefined || value <= 0 || !baseline) continue
    const z = (Math.log(value) - baseline.middle) / Math.max(spreadMin.heart_rate_variability, baseline.spread)
    return {
      name: 'heart_rate_variability',
      value,
      goal: Math.exp(baseline.middle),
      score: scoreOnCurve(scoreCurves.heart_rate_variability, z),
      unit: factorUnits.heart_rate_variability,
      basis: 'personal',
    }
  }
  return null
}
