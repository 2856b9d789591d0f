import { monthArchetypes, weekArchetypes } from './archetypes.ts'
import { dayBiomarkers, weekBiomarkers } from './biomarkers.ts'
import type { Cohort } from './cohort.ts'
import { dayComparisons } from './comparisons.ts'
import { dayFacts } from './day-facts.ts'
import { createDerivation, type Derivation } from './derivation.ts'
import type { DayFacts } from './facts.ts'
import { mondayOf, monthOf } from './local-time.ts'
import type { Log, Person, Trace } from './log.ts'
import { compareLogs } from './rank.ts'
import { type Draft, type Kind, served } from './records.ts'
import { dayScores } from './score-records.ts'
import { createShelf } from './shelf.ts'
import { weekTrends } from './trends.ts'

/** How this account prefers its sources, best first, by source or device type; empty for the model's own order. */
export type FactsInput = {
  logs: readonly Log[]
  person: Person
  asOf: number
  sourcePriority?: readonly string[]
  trace?: Trace
}

/**
 * The facts of the days asked for (all days that logs tell of, when not said), from the logs alone. A log from the
 * future is not known yet. Asking for one day gives what asking for all gives for that day.
 */
export function factsOf(input: FactsInput, days?: readonly number[]): DayFacts[] {
  const { person, asOf, sourcePriority = [], trace } = input
  const known = input.logs.filter((log) => log.startAt <= asOf)
  const shelf = createShelf(known, trace)
  const better = compareLogs(sourcePriority)
  const wanted =
    days ?? [...new Set(shelf.days.flatMap((day) => [day - 1, day, day + 1, day + 2]))].sort((a, b) => a - b)
  return wanted.flatMap((day) => dayFacts({ shelf, day, better, sourcePriority, person, trace }) ?? [])
}

/** What is derived by the day, the week and the month, as the facts stand. */
export function draftsOfDay(derivation: Derivation, day: number): Draft[] {
  return [...dayScores(derivation, day), ...dayBiomarkers(derivation, day)]
}

export function draftsOfComparedDay(derivation: Derivation, day: number): Draft[] {
  return dayComparisons(derivation, day)
}

export function draftsOfWeek(derivation: Derivation, monday: number): Draft[] {
  return [
    ...weekBiomarkers(derivation, monday),
    ...weekArchetypes(derivation, monday),
    ...weekTrends(derivation, monday),
  ]
}

export function draftsOfMonth(derivation: Derivation, first: number): Draft[] {
  return monthArchetypes(derivation, first)
}

export function draftsOf(derivation: Derivation, facts: readonly DayFacts[]): Draft[] {
  const days = facts.map(({ day }) => day)
  const mondays = new Set(days.map(mondayOf))
  const months = new Set(days.map((day) => monthOf(day).first))
  return [
    ...days.flatMap((day) => [...draftsOfDay(derivation, day), ...draftsOfComparedDay(derivation, day)]),
    ...[...mondays].flatMap((monday) => draftsOfWeek(derivation, monday)),
    ...[...months].flatMap((first) => draftsOfMonth(derivation, first)),
  ]
}

export type Derived = Record<`${Kind}s`, Record<string, unknown>[]>

/** Everything, from nothing but its arguments: no clock, no randomness, no I/O. Records as they are served. */
export function derive(input: FactsInput & { profileId: string; cohort?: Cohort | null }): Derived {
  const facts = factsOf(input)
  const { profileId, person, asOf, cohort } = input
  const derivation = createDerivation({ profileId, person, asOf, facts, cohort: cohort ?? null })
  const derived: Derived = { scores: [], biomarkers: [], archetypes: [], trends: [], comparisons: [] }
  const life = { createdAt: new Date(asOf).toISOString(), version: 1 }
  for (const draft of draftsOf(derivation, facts)) derived[`${draft.kind}s`].push(served(draft, life))
  return derived
}
