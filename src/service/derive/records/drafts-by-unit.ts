import type { Derivation } from '../days/derivation.ts'
import { monthArchetypeDrafts, weekArchetypeDrafts } from './archetype-records.ts'
import { dayBiomarkerDrafts, weekBiomarkerDrafts } from './biomarker-records.ts'
import { dayComparisonDrafts } from './comparison-records.ts'
import type { Draft } from './draft.ts'
import { dayScoreDrafts } from './score-records.ts'
import { weekTrendDrafts } from './trend-records.ts'

/** All drafts that are derived by one day; the functions below do the same for a compared day, a week and a month. */
export function draftsOfDay(derivation: Derivation, day: number): Draft[] {
  return [...dayScoreDrafts(derivation, day), ...dayBiomarkerDrafts(derivation, day)]
}

export function draftsOfComparedDay(derivation: Derivation, day: number): Draft[] {
  return dayComparisonDrafts(derivation, day)
}

export function draftsOfWeek(derivation: Derivation, monday: number): Draft[] {
  return [
    ...weekBiomarkerDrafts(derivation, monday),
    ...weekArchetypeDrafts(derivation, monday),
    ...weekTrendDrafts(derivation, monday),
  ]
}

export function draftsOfMonth(derivation: Derivation, first: number): Draft[] {
  return monthArchetypeDrafts(derivation, first)
}
