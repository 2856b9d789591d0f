import { sleepDaySpan } from '../day/day-bounds.ts'
import type { DayFacts } from '../day/facts.ts'
import type { BiomarkerType } from '../model/biomarker-catalogue.ts'
import type { Cohort } from '../model/cohort.ts'
import type { Demographics } from '../model/demographics.ts'
import { lookBacks } from '../model/model.ts'
import { roundTo } from '../model/statistics.ts'
import { type BiomarkerValue, biomarkerValuesOn } from './biomarker-values.ts'
import { createDaySeries, type DaySeries, isDayOver } from './day-series.ts'
import { type Factors, factorsOn } from './factors.ts'
import { scoresFrom } from './scores.ts'

/**
 * The facts of one profile and all that follows from them by the day, computed when first asked for. Every record is
 * made from a derivation; only the values that are asked for are computed, so that one new day costs no more than the
 * days that depend on it.
 */
export type Derivation = ReturnType<typeof createDerivation>

/**
 * The values that follow for a day from its facts and from the days before. Stored, so that they need not be computed again
 * to derive the next day. The records of the day depend on the outcome and on the facts of the day, and on nothing else:
 * a change that is in neither of them goes unnoticed. Stored as JSON: a renamed or reordered key rewrites every day.
 */
export type DayOutcome = {
  /** Whether its sleep day and its local day were over. */
  readonly over: readonly [sleepDay: boolean, localDay: boolean]
  readonly factors: Factors
  readonly readings: readonly BiomarkerValue[]
  readonly sendsSessions: boolean
}

/** Reads a stored outcome. Only this program writes outcomes, so their shape is not checked again. */
export function parseDayOutcome(text: string): DayOutcome {
  return JSON.parse(text)
}

export function createDerivation(input: {
  profileId: string
  demographics: Demographics
  asOfMs: number
  facts: readonly DayFacts[]
  cohort?: Cohort | null
  /** Stored outcomes of days that have not changed since. */
  known?: ReadonlyMap<number, DayOutcome>
}) {
  const { profileId, demographics, asOfMs, cohort = null } = input
  const facts = input.facts.toSorted((a, b) => a.day - b.day)
  const series = createDaySeries(facts, { demographics, asOfMs })
  const byDay = new Map(facts.map((day) => [day.day, day]))
  const known = (day: number) => input.known?.get(day)
  const factors = memoizedByDay((day) => known(day)?.factors ?? factorsOn(series, day))
  const biomarkerValues = memoizedByDay((day) => {
    const dayFacts = byDay.get(day)
    return dayFacts ? (known(day)?.readings ?? biomarkerValuesOn(series, dayFacts)) : []
  })
  const numbers = memoizedByDay((day) => {
    const dayFacts = byDay.get(day)
    return new Map(dayFacts && series.isOver(dayFacts) ? biomarkerValues(day).flatMap(numberOf) : [])
  })
  return {
    profileId,
    demographics,
    asOfMs,
    series,
    cohort,
    /** The facts of a day, also while it is not over. */
    factsOn: (day: number) => byDay.get(day),
    factors,
    scores: memoizedByDay((day) => scoresFrom(factors(day))),
    /** Whether the person's sources send exercise sessions: one of the last ninety days, the day itself included. */
    sendsSessions: memoizedByDay((day) => known(day)?.sendsSessions ?? hasSession(series, day)),
    biomarkerValues,
    /** A biomarker's number on a day that is over; null where there is none. */
    biomarkerNumber: (day: number, type: BiomarkerType) => numbers(day).get(type) ?? null,
    /** Whether a period that ends with this day is over, by the last known offset. */
    isOver: (lastDay: number) => {
      const last = facts.findLast(({ day }) => day <= lastDay)
      return last !== undefined && isDayOver({ day: lastDay, offset: last.offset }, asOfMs)
    },
  }
}

function hasSession(series: DaySeries, day: number): boolean {
  return series.between(day - lookBacks.sessions.days, day).some(({ exercise }) => exercise.length > 0)
}

function numberOf({ type, value }: BiomarkerValue): [BiomarkerType, number][] {
  return typeof value === 'number' ? [[type, roundTo(value, 3)]] : []
}

export function dayOutcomeOf(derivation: Derivation, facts: DayFacts): DayOutcome {
  const { day } = facts
  const nightOffset = facts.night?.offset ?? facts.offset
  const sleepDayEndMs = sleepDaySpan(day, nightOffset).endMs
  return {
    over: [derivation.asOfMs >= sleepDayEndMs, derivation.series.isOver(facts)],
    factors: derivation.factors(day),
    readings: derivation.biomarkerValues(day),
    sendsSessions: derivation.sendsSessions(day),
  }
}

function memoizedByDay<T>(compute: (day: number) => T): (day: number) => T {
  const known = new Map<number, T>()
  return (day) => {
    const before = known.get(day)
    if (before !== undefined) return before
    const value = compute(day)
    known.set(day, value)
    return value
  }
}
