import { exerciseKinds, hybridBelowShare, type OrdinalName, periodGates, sessionMinutesMin } from './archetype-model.ts'
import type { Derivation } from './derivation.ts'
import type { DayFacts } from './facts.ts'
import { clockOf, sleepRegularity } from './nights.ts'
import { compareText } from './rank.ts'
import type { ScoreType } from './scores.ts'
import { clockMedian, clockMinutes, mean, sum } from './statistics.ts'

/** A week or a month of local days, both ends included. */
export type Stretch = { readonly periodicity: 'weekly' | 'monthly'; readonly first: number; readonly last: number }

type Metric = (derivation: Derivation, stretch: Stretch) => number | null

const noon = 720

/** The one figure that each ordinal archetype is read from; null where the stretch has too few days or nights. */
export const metrics: Readonly<Record<OrdinalName, Metric>> = {
  activity_level: (derivation, stretch) =>
    meanOf(
      validDays(derivation, stretch).flatMap(({ movement }) => movement?.steps ?? []),
      gate(stretch).days,
    ),
  exercise_frequency: (derivation, stretch) => {
    const days = validDays(derivation, stretch)
    if (days.length < gate(stretch).days) return null
    const sessions = exercises(derivation, stretch).filter(({ minutes }) => minutes >= sessionMinutesMin)
    return (sessions.length * 7) / (stretch.last - stretch.first + 1)
  },
  mental_wellness: (derivation, stretch) => scoreMean(derivation, stretch, 'mental_wellbeing'),
  overall_wellness: (derivation, stretch) => scoreMean(derivation, stretch, 'wellbeing'),
  sleep_duration: (derivation, stretch) =>
    meanOf(
      nightsIn(derivation, stretch).map((night) => night.duration),
      gate(stretch).nights,
    ),
  sleep_efficiency: (derivation, stretch) =>
    meanOf(
      nightsIn(derivation, stretch).flatMap((night) => night.efficiency ?? []),
      gate(stretch).nights,
    ),
  sleep_quality: (derivation, stretch) => scoreMean(derivation, stretch, 'sleep'),
  sleep_regularity: (derivation, stretch) => {
    const nightsMin = gate(stretch).regularNights
    return sleepRegularity(derivation.daysBetween(stretch.first, stretch.last), { nightsMin, pairsMin: nightsMin - 1 })
  },
  bed_schedule: (derivation, stretch) => {
    const onsets = nightsIn(derivation, stretch).map((night) => clockOf(night.onsetAt, night.offset))
    if (onsets.length < gate(stretch).nights) return null
    return (clockMedian(onsets) - noon + clockMinutes) % clockMinutes
  },
  wake_schedule: (derivation, stretch) => {
    const wakes = nightsIn(derivation, stretch).map((night) => clockOf(night.wakeAt, night.offset))
    return wakes.length < gate(stretch).nights ? null : clockMedian(wakes)
  },
}

export function gate({ periodicity }: Stretch) {
  return periodGates[periodicity]
}

/** Nights enough to speak of a pattern. */
export function hasPattern(derivation: Derivation, stretch: Stretch): boolean {
  return nightsIn(derivation, stretch).length >= gate(stretch).regularNights
}

function validDays(derivation: Derivation, { first, last }: Stretch): readonly DayFacts[] {
  return derivation.daysBetween(first, last).filter(({ movement }) => movement?.valid)
}

function nightsIn(derivation: Derivation, { first, last }: Stretch) {
  return derivation.daysBetween(first, last).flatMap(({ night }) => night ?? [])
}

function scoreMean(derivation: Derivation, stretch: Stretch, type: ScoreType): number | null {
  const values = derivation
    .daysBetween(stretch.first, stretch.last)
    .flatMap(({ day }) => derivation.scores(day)[type]?.value ?? [])
  return meanOf(values, gate(stretch).days)
}

function meanOf(values: readonly number[], needed: number): number | null {
  return values.length < needed ? null : mean(values)
}

function exercises(derivation: Derivation, { first, last }: Stretch) {
  return derivation.daysBetween(first, last).flatMap(({ exercise }) => exercise)
}

/** Kinds of exercise by time, longest first. */
export function exerciseRanking(derivation: Derivation, stretch: Stretch): { exercise: string; minutes: number }[] {
  const minutes = new Map<string, number>()
  for (const session of exercises(derivation, stretch)) {
    minutes.set(session.exercise, (minutes.get(session.exercise) ?? 0) + session.minutes)
  }
  return [...minutes]
    .map(([exercise, total]) => ({ exercise, minutes: total }))
    .sort((a, b) => b.minutes - a.minutes || compareText(a.exercise, b.exercise))
}

/** The orientation that half of the time or more went to; hybrid where none did. */
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
