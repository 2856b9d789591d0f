import { compareText } from '../../../base/text/compare-text.ts'
import type { DayFacts } from '../day/facts.ts'
import { type OrdinalName, periodMinimums, sessionMinutesMin } from '../model/archetype-model.ts'
import { exerciseKinds, hybridBelowShare } from '../model/exercise-kinds.ts'
import { clockMedian, clockMinutes, mean, sum } from '../model/statistics.ts'
import type { Derivation } from './derivation.ts'
import type { ScoreType } from './scores.ts'
import { clockMinutesAt, sleepRegularity } from './sleep-over-days.ts'

/** A week or a month of local days, both ends included. */
export type CalendarPeriod = {
  readonly periodicity: 'weekly' | 'monthly'
  readonly first: number
  readonly last: number
}

type Metric = (derivation: Derivation, period: CalendarPeriod) => number | null

const noon = 720

/** The figures behind the ordinal archetypes; null where the period has too few days or nights. */
const archetypeMetrics: Readonly<Record<OrdinalName, Metric>> = {
  activity_level: (derivation, period) =>
    meanOf(
      validDays(derivation, period).flatMap(({ movement }) => movement?.steps ?? []),
      minimumsOf(period).days,
    ),
  exercise_frequency: (derivation, period) => {
    const days = validDays(derivation, period)
    if (days.length < minimumsOf(period).days || !sendsSessions(derivation, period)) return null
    const sessions = exercises(derivation, period).filter(({ minutes }) => minutes >= sessionMinutesMin)
    return (sessions.length * 7) / (period.last - period.first + 1)
  },
  mental_wellness: (derivation, period) => scoreMean(derivation, period, 'mental_wellbeing'),
  overall_wellness: (derivation, period) => scoreMean(derivation, period, 'wellbeing'),
  sleep_duration: (derivation, period) =>
    meanOf(
      nightsIn(derivation, period).map((night) => night.duration),
      minimumsOf(period).nights,
    ),
  sleep_efficiency: (derivation, period) =>
    meanOf(
      nightsIn(derivation, period).flatMap((night) => night.efficiency ?? []),
      minimumsOf(period).nights,
    ),
  sleep_quality: (derivation, period) => scoreMean(derivation, period, 'sleep'),
  sleep_regularity: (derivation, period) => {
    const nightsMin = minimumsOf(period).regularNights
    return sleepRegularity(derivation.series.between(period.first, period.last), { nightsMin, pairsMin: nightsMin - 1 })
  },
  bed_schedule: (derivation, period) => {
    const onsets = nightsIn(derivation, period).map((night) => clockMinutesAt(night.onsetAt, night.offset))
    if (onsets.length < minimumsOf(period).nights) return null
    return (clockMedian(onsets) - noon + clockMinutes) % clockMinutes
  },
  wake_schedule: (derivation, period) => {
    const wakes = nightsIn(derivation, period).map((night) => clockMinutesAt(night.wakeAt, night.offset))
    return wakes.length < minimumsOf(period).nights ? null : clockMedian(wakes)
  },
}

/** Each week is replayed for the fifteen weeks after it too. */
const computed = new WeakMap<Derivation, Map<string, number | null>>()

/** The figure behind an ordinal archetype in a period. */
export function archetypeMetric(derivation: Derivation, period: CalendarPeriod, name: OrdinalName): number | null {
  const metrics = computed.get(derivation) ?? new Map<string, number | null>()
  computed.set(derivation, metrics)
  const key = `${name} ${period.first} ${period.last}`
  const known = metrics.get(key)
  if (known !== undefined) return known
  const value = archetypeMetrics[name](derivation, period)
  metrics.set(key, value)
  return value
}

export function minimumsOf({ periodicity }: CalendarPeriod) {
  return periodMinimums[periodicity]
}

/** Whether there are enough nights for a sleep pattern. */
export function hasPattern(derivation: Derivation, period: CalendarPeriod): boolean {
  return nightsIn(derivation, period).length >= minimumsOf(period).regularNights
}

function validDays(derivation: Derivation, { first, last }: CalendarPeriod): readonly DayFacts[] {
  return derivation.series.between(first, last).filter(({ movement }) => movement?.valid)
}

function nightsIn(derivation: Derivation, { first, last }: CalendarPeriod) {
  return derivation.series.between(first, last).flatMap(({ night }) => night ?? [])
}

/** Without any session for three months, nobody knows whether the person does not exercise or the sources do not record it. */
function sendsSessions(derivation: Derivation, { first, last }: CalendarPeriod): boolean {
  const known = derivation.series.between(first, last).at(-1)
  return known !== undefined && derivation.sendsSessions(known.day)
}

function scoreMean(derivation: Derivation, period: CalendarPeriod, type: ScoreType): number | null {
  const values = derivation.series
    .between(period.first, period.last)
    .flatMap(({ day }) => derivation.scores(day)[type]?.value ?? [])
  return meanOf(values, minimumsOf(period).days)
}

function meanOf(values: readonly number[], needed: number): number | null {
  return values.length < needed ? null : mean(values)
}

function exercises(derivation: Derivation, { first, last }: CalendarPeriod) {
  return derivation.series.between(first, last).flatMap(({ exercise }) => exercise)
}

/** Exercises by their total time, longest first. */
export function exerciseRanking(
  derivation: Derivation,
  period: CalendarPeriod,
): { exercise: string; minutes: number }[] {
  const minutes = new Map<string, number>()
  for (const session of exercises(derivation, period)) {
    minutes.set(session.exercise, (minutes.get(session.exercise) ?? 0) + session.minutes)
  }
  return [...minutes]
    .map(([exercise, total]) => ({ exercise, minutes: total }))
    .sort((a, b) => b.minutes - a.minutes || compareText(a.exercise, b.exercise))
}

/** The orientation with at least half of the time; hybrid where none has it. */
export function orientation(ranking: readonly { exercise: string; minutes: number }[]): string | null {
  const all = sum(ranking.map(({ minutes }) => minutes))
  if (all <= 0) return null
  const kindOf = (exercise: string) =>
    Object.entries(exerciseKinds).find(([, names]) => names.includes(exercise))?.[0] ?? 'cardio'
  const shares = new Map<string, number>()
  for (const { exercise, minutes } of ranking) {
    shares.set(kindOf(exercise), (shares.get(kindOf(exercise)) ?? 0) + minutes / all)
  }
  const [kind, share] = [...shares].sort(([a, x], [b, y]) => y - x || compareText(a, b))[0] ?? ['hybrid', 1]
  return `${share >= hybridBelowShare ? kind : 'hybrid'}_oriented`
}
