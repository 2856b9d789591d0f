import { HOUR } from '../../window.ts'
import type { BiomarkerType } from './biomarker-catalogue.ts'
import type { Cohort } from './cohort.ts'
import { type Factors, factorsOn } from './factors.ts'
import type { DayFacts } from './facts.ts'
import { midnightAt } from './local-time.ts'
import type { Person } from './log.ts'
import { sleepRules, windows } from './model.ts'
import { type Reading, readingsOn } from './readings.ts'
import { type Scores, scoresFrom } from './scores.ts'
import { createSeries, type Series } from './series.ts'
import { roundTo } from './statistics.ts'

/**
 * One profile's facts, and what follows from them day by day, computed when first asked for. Every record is made from
 * this; what is asked for decides what is computed, so that one new day costs no more than its own dependents.
 */
export type Derivation = {
  readonly profileId: string
  readonly person: Person
  readonly asOf: number
  readonly series: Series
  readonly cohort: Cohort | null
  /** The facts of a day also while it is not over. */
  factsOn(day: number): DayFacts | undefined
  daysBetween(from: number, to: number): readonly DayFacts[]
  factors(day: number): Factors
  scores(day: number): Scores
  /** Whether any session lies in the days that the strain of a day is judged by, its own included. */
  hasTrained(day: number): boolean
  readings(day: number): readonly Reading[]
  /** A biomarker's number on a day that is over; null where there is none. */
  reading(day: number, type: BiomarkerType): number | null
  isWeekOver(monday: number): boolean
  isOver(lastDay: number): boolean
}

/**
 * What a day comes to when its neighbours are looked at too. Kept, so that it need not be computed to derive the next day.
 * The day's records are made of this and of its own facts, and of nothing else: what is not in here changes unnoticed.
 */
export type Outcome = {
  /** Whether its sleep day and its local day were over. */
  readonly over: readonly [sleepDay: boolean, localDay: boolean]
  readonly factors: Factors
  readonly readings: readonly Reading[]
  readonly hasTrained: boolean
}

export type DerivationInput = {
  profileId: string
  person: Person
  asOf: number
  facts: readonly DayFacts[]
  cohort?: Cohort | null
  /** Outcomes known to hold still, by day. */
  known?: ReadonlyMap<number, Outcome>
}

export function createDerivation(input: DerivationInput): Derivation {
  const { profileId, person, asOf } = input
  const facts = input.facts.toSorted((a, b) => a.day - b.day)
  const series = createSeries(facts, { person, asOf })
  const byDay = new Map(facts.map((day) => [day.day, day]))
  const known = (day: number) => input.known?.get(day)
  const factors = remembered((day) => known(day)?.factors ?? factorsOn(series, day))
  const scores = remembered((day) => scoresFrom(factors(day)))
  const readings = remembered((day) => {
    const own = byDay.get(day)
    return own ? (known(day)?.readings ?? readingsOn(series, own)) : []
  })
  const hasTrained = remembered(
    (day) =>
      known(day)?.hasTrained ??
      series.between(day - windows.strain.days, day).some(({ exercise }) => exercise.length > 0),
  )
  const closed = remembered((day) => {
    const own = byDay.get(day)
    if (!own || !series.isClosed(own)) return new Map<BiomarkerType, number>()
    return new Map(
      readings(day).flatMap(({ type, value }) => (typeof value === 'number' ? [[type, roundTo(value, 3)]] : [])),
    )
  })
  const isOver = (lastDay: number) => {
    const last = facts.findLast(({ day }) => day <= lastDay)
    return last !== undefined && asOf >= midnightAt(lastDay + 1, last.offset)
  }
  return {
    profileId,
    person,
    asOf,
    series,
    cohort: input.cohort ?? null,
    factsOn: (day) => byDay.get(day),
    daysBetween: (from, to) => series.between(from, to),
    factors,
    scores,
    hasTrained,
    readings,
    reading: (day, type) => closed(day).get(type) ?? null,
    isWeekOver: (monday) => isOver(monday + 6),
    isOver,
  }
}

export function outcomeOf(derivation: Derivation, facts: DayFacts): Outcome {
  const { day } = facts
  const nightOffset = facts.night?.offset ?? facts.offset
  const sleepDayEnd = midnightAt(day, nightOffset) + sleepRules.dayStartsAtHour * HOUR
  return {
    over: [derivation.asOf >= sleepDayEnd, derivation.asOf >= midnightAt(day + 1, facts.offset)],
    factors: derivation.factors(day),
    readings: derivation.readings(day),
    hasTrained: derivation.hasTrained(day),
  }
}

function remembered<T>(compute: (day: number) => T): (day: number) => T {
  const known = new Map<number, T>()
  return (day) => {
    const there = known.get(day)
    if (there !== undefined) return there
    const fresh = compute(day)
    known.set(day, fresh)
    return fresh
  }
}
