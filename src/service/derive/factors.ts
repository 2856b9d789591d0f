import { activityRegularity, intenseMinutes, intensity, personal, strain } from './habits.ts'
import { ageOn, sexOf } from './log.ts'
import { anchors, type FactorName, goals, type Points, powers, spreadMin, stepsGoal, units, windows } from './model.ts'
import { circadianMisalignment, needOf, sleepDebt, sleepRegularity } from './nights.ts'
import { restingHeartRate } from './norms.ts'
import type { Series } from './series.ts'
import { interpolate } from './statistics.ts'

/** A factor as it stands on one day. `basis` tells what a personal goal rests on. */
export type Factor = {
  readonly name: FactorName
  readonly value: number
  readonly goal: number
  readonly score: number
  readonly unit: string
  readonly basis?: 'personal' | 'population'
}

export type Factors = Partial<Record<FactorName, Factor>>

/** Score of a value on its anchors, when the goal is `scale` times the one the anchors were made for. */
export function anchored(points: Points, value: number, scale = 1): number {
  return interpolate(points, value / scale)
}

export function powered(value: number, goal: number, power: number): number {
  return Math.max(0, Math.min(1, value / goal)) ** power
}

/** Every factor of which the day knows enough; the others are absent. */
export function factorsOn(series: Series, day: number): Factors {
  const factors: Factors = {}
  for (const factor of [...movementFactors(series, day), ...nightFactors(series, day), ...bodyFactors(series, day)]) {
    if (factor && Number.isFinite(factor.value)) factors[factor.name] = factor
  }
  return factors
}

type Anchored = Exclude<keyof typeof anchors, 'strain_capacity'> & keyof typeof goals

function plain(name: Anchored, value: number | null | undefined): Factor | null {
  if (value === null || value === undefined) return null
  return { name, value, goal: goals[name], score: anchored(anchors[name], value), unit: units[name] }
}

function movementFactors(series: Series, day: number): (Factor | null)[] {
  const movement = series.at(day)?.movement
  if (!movement?.valid) return []
  const age = ageOn(series.person, day)
  const goal = age !== null && age >= stepsGoal.fromAge ? stepsGoal.older : stepsGoal.usual
  const { steps, activeEnergy } = movement
  return [
    steps === null
      ? null
      : {
          name: 'steps',
          value: steps,
          goal,
          score: anchored(anchors.steps, steps, goal / stepsGoal.usual),
          unit: units.steps,
        },
    plain('active_hours', movement.activeHours),
    activeEnergy === null
      ? null
      : {
          name: 'active_calories',
          value: activeEnergy,
          goal: goals.active_calories,
          score: powered(activeEnergy, goals.active_calories, powers.active_calories),
          unit: units.active_calories,
        },
    plain('intense_activity_duration', intensity(series, day)),
    plain('extended_inactivity', movement.stillness),
    plain('floors_climbed', movement.floors),
    share('activity_regularity', activityRegularity(series, day)),
  ]
}

function nightFactors(series: Series, day: number): (Factor | null)[] {
  const night = series.at(day)?.night
  if (!night) return []
  const need = needOf(series.person, day)
  const { days, ...gates } = windows.regularity
  return [
    {
      name: 'sleep_duration',
      value: night.duration,
      goal: need,
      score: anchored(anchors.sleep_duration, night.duration, need / 480),
      unit: units.sleep_duration,
    },
    share('sleep_regularity', sleepRegularity(series.between(day - days + 1, day), gates)),
    plain('sleep_continuity', night.awakeAfterOnset),
    plain('sleep_debt', sleepDebt(series, day)),
    plain('circadian_alignment', circadianMisalignment(series, day)),
    night.deep === null
      ? null
      : {
          name: 'physical_recovery',
          value: night.deep,
          goal: goals.physical_recovery,
          score: powered(night.deep, goals.physical_recovery, powers.physical_recovery),
          unit: units.physical_recovery,
        },
    plain('mental_recovery', night.rem),
    capacity(
      'walking_strain_capacity',
      strain(series, day, ({ steps }) => steps),
    ),
    capacity('exercise_strain_capacity', strain(series, day, intenseMinutes)),
  ]
}

/** An index that is its own score. */
function share(name: 'sleep_regularity' | 'activity_regularity', value: number | null): Factor | null {
  if (value === null) return null
  return { name, value, goal: goals[name], score: Math.max(0, Math.min(1, value)), unit: units[name] }
}

function capacity(name: 'walking_strain_capacity' | 'exercise_strain_capacity', ratio: number | null): Factor | null {
  if (ratio === null) return null
  return { name, value: ratio, goal: goals[name], score: anchored(anchors.strain_capacity, ratio), unit: units[name] }
}

function bodyFactors(series: Series, day: number): (Factor | null)[] {
  return [restingFactor(series, day), variabilityFactor(series, day)]
}

function restingFactor(series: Series, day: number): Factor | null {
  const value = series.at(day)?.measures['heart_rate_resting']?.value
  if (value === undefined) return null
  const own = personal(series, day, { name: 'heart_rate_resting', read: (rate) => rate })
  const population = restingHeartRate[sexOf(series.person) ?? 'all']
  const { middle, spread } = own ?? { middle: population.mean, spread: population.spread }
  const z = (value - middle) / Math.max(spreadMin.resting_heart_rate, spread)
  return {
    name: 'resting_heart_rate',
    value,
    goal: middle,
    score: anchored(anchors.resting_heart_rate, z),
    unit: units.resting_heart_rate,
    basis: own ? 'personal' : 'population',
  }
}

/** RMSSD where there is a baseline of it, else SDNN; the two are never mixed, and strangers' values say nothing. */
function variabilityFactor(series: Series, day: number): Factor | null {
  for (const name of ['heart_rate_variability_rmssd', 'heart_rate_variability_sdnn']) {
    const value = series.at(day)?.measures[name]?.value
    const own = personal(series, day, { name, read: Math.log })
    if (value === undefined || value <= 0 || !own) continue
    const z = (Math.log(value) - own.middle) / Math.max(spreadMin.heart_rate_variability, own.spread)
    return {
      name: 'heart_rate_variability',
      value,
      goal: Math.exp(own.middle),
      score: anchored(anchors.heart_rate_variability, z),
      unit: units.heart_rate_variability,
      basis: 'personal',
    }
  }
  return null
}
