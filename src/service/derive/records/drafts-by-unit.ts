import type { Derivation } from '../days/derivation.ts'
import { comparedSubjects, comparedValue, magnitude, type Reference, referencesFor } from '../days/references.ts'
import { roundTo } from '../model/statistics.ts'
import { lowerIsBetter } from '../model/trend-model.ts'
import { weekArchetypeDrafts } from './archetype-records.ts'
import { dayBiomarkerDrafts, weekBiomarkerDrafts } from './biomarker-records.ts'
import { comparedUnit, type Draft, datedDays, draftOf } from './draft.ts'
import { dayScoreDrafts } from './score-records.ts'
import { weekTrendDrafts } from './trend-records.ts'

/** All drafts that are derived by one day; those of a month are its archetypes alone. */
export function draftsOfDay(derivation: Derivation, day: number): Draft[] {
  return [...dayScoreDrafts(derivation, day), ...dayBiomarkerDrafts(derivation, day)]
}

export function draftsOfWeek(derivation: Derivation, monday: number): Draft[] {
  return [
    ...weekBiomarkerDrafts(derivation, monday),
    ...weekArchetypeDrafts(derivation, monday),
    ...weekTrendDrafts(derivation, monday),
  ]
}

/** How a day that is over compares with the person's own days, with people of that sex and age, and with everyone. */
export function draftsOfComparedDay(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts || !derivation.isOver(day)) return []
  const span = datedDays(day, day, facts.offset)
  return comparedSubjects.flatMap((subject) => {
    const value = comparedValue(derivation, day, subject.name)
    if (value === null) return []
    const data = referencesFor(derivation, { day, value, subject }).map((reference) =>
      referenceRecord(reference, value),
    )
    if (data.length === 0) return []
    const { category, name, unit } = subject
    const { startDateTime, endDateTime } = span
    const isHigherBetter = !lowerIsBetter.includes(name)
    const head = { type: 'comparison', category, name, value, unit, isHigherBetter, periodicity: 'daily' }
    return [
      draftOf({
        kind: 'comparison',
        profileId: derivation.profileId,
        idParts: [category, name, comparedUnit(day)],
        derivationUnit: comparedUnit(day),
        span,
        body: { ...head, startDateTime, endDateTime, data },
      }),
    ]
  })
}

function referenceRecord({ type, value, share, properties }: Reference, x: number) {
  return {
    type,
    value: roundTo(value, 3),
    percentile: type === 'baseline' ? null : roundTo(share * 100, 1),
    difference: roundTo(x - value, 3),
    percentageDifference: value === 0 ? null : roundTo((x - value) / value, 4),
    state: magnitude(share),
    properties,
  }
}
