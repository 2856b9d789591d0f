import type { DerivedKind } from '../../../src/base/contract/derivation-state.ts'
import { mondayOf, monthOf } from '../../../src/base/time/local-time.ts'
import type { DayFacts } from '../../../src/service/derive/day/facts.ts'
import { type FactsInput, factsOfDays } from '../../../src/service/derive/day/facts-of-days.ts'
import { createDerivation, type Derivation } from '../../../src/service/derive/days/derivation.ts'
import type { Cohort } from '../../../src/service/derive/model/cohort.ts'
import { monthArchetypeDrafts } from '../../../src/service/derive/records/archetype-records.ts'
import { type Draft, servedBody } from '../../../src/service/derive/records/draft.ts'
import { draftsOfComparedDay, draftsOfDay, draftsOfWeek } from '../../../src/service/derive/records/drafts-by-unit.ts'

function draftsOf(derivation: Derivation, facts: readonly DayFacts[]): Draft[] {
  const days = facts.map(({ day }) => day)
  const mondays = new Set(days.map(mondayOf))
  const months = new Set(days.map((day) => monthOf(day).first))
  return [
    ...days.flatMap((day) => [...draftsOfDay(derivation, day), ...draftsOfComparedDay(derivation, day)]),
    ...[...mondays].flatMap((monday) => draftsOfWeek(derivation, monday)),
    ...[...months].flatMap((first) => monthArchetypeDrafts(derivation, first)),
  ]
}

export type Derived = Record<`${DerivedKind}s`, Record<string, unknown>[]>

/** Derives all records at once, as they are served, without clock, randomness or I/O. */
export function derive(input: FactsInput & { profileId: string; cohort?: Cohort | null }): Derived {
  const facts = factsOfDays(input)
  const { profileId, demographics, asOfMs, cohort } = input
  const derivation = createDerivation({
    profileId,
    demographics,
    asOfMs,
    facts,
    cohort: cohort ?? null,
  })
  const derived: Derived = { scores: [], biomarkers: [], archetypes: [], trends: [], comparisons: [] }
  const life = { createdAt: new Date(asOfMs).toISOString(), version: 1 }
  for (const draft of draftsOf(derivation, facts)) derived[`${draft.kind}s`].push(servedBody(draft, life))
  return derived
}
