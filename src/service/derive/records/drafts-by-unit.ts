import { isoText, midnightMs } from '../../../base/time/local-time.ts'
import type { Derivation } from '../days/derivation.ts'
import type { Factor } from '../days/factors.ts'
import { comparedSubjects, comparedValue, magnitude, type Reference, referencesFor } from '../days/references.ts'
import { type Score, stateOf } from '../days/scores.ts'
import { ageOn } from '../model/demographics.ts'
import { vitalFactorNames } from '../model/model.ts'
import { nightFactorNames } from '../model/score-definitions.ts'
import { roundTo } from '../model/statistics.ts'
import { lowerIsBetter } from '../model/trend-model.ts'
import { weekArchetypeDrafts } from './archetype-records.ts'
import { dayBiomarkerDrafts, weekBiomarkerDrafts } from './biomarker-records.ts'
import { comparedUnit, type Draft, datedDays, dayUnit, draftOf, recordId } from './draft.ts'
import { weekTrendDrafts } from './trend-records.ts'

const exerciseFactorNames = new Set<string>(['intense_activity_duration', 'exercise_strain_capacity'])

function dayScoreDrafts(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts) return []
  const startMs = midnightMs(day, facts.offset)
  return Object.values(derivation.scores(day)).map((score) =>
    draftOf({
      kind: 'score',
      profileId: derivation.profileId,
      idParts: [score.type, dayUnit(day)],
      derivationUnit: dayUnit(day),
      span: { startMs, endMs: startMs },
      body: {
        type: score.type,
        value: roundTo(score.value, 2),
        state: stateOf(score.value),
        factors: score.parts.map(({ factor }) => factorRecord(derivation, factor, { score: score.type, day })),
        scoreDateTime: isoText(startMs, facts.offset),
        dataSources: sourcesOf(derivation, score, day),
      },
    }),
  )
}

function factorRecord(derivation: Derivation, factor: Factor, { score, day }: { score: string; day: number }) {
  return {
    id: recordId(derivation.profileId, ['factor', score, factor.name, dayUnit(day)]),
    name: factor.name,
    value: roundTo(factor.value, 2),
    goal: roundTo(factor.goal, 2),
    score: roundTo(factor.score, 2),
    state: stateOf(factor.score),
    unit: factor.unit,
  }
}

function sourcesOf(derivation: Derivation, { parts }: Score, day: number): string[] {
  const names = parts.map(({ factor }) => factor.name)
  const fromNight = names.filter((name) => nightFactorNames.includes(name))
  const fromVitals = names.filter((name) => vitalFactorNames.includes(name))
  const usesAge = names.includes('steps') || names.includes('sleep_duration')
  const usesExercise = names.some((name) => exerciseFactorNames.has(name)) && derivation.sendsSessions(day)
  return [
    ...(usesAge && ageOn(derivation.demographics, day) !== null ? ['age'] : []),
    ...(fromNight.length > 0 ? ['sleep'] : []),
    ...(names.length > fromNight.length + fromVitals.length ? ['activity'] : []),
    ...(usesExercise ? ['exercise'] : []),
    ...(fromVitals.length > 0 ? ['vitals'] : []),
  ]
}

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
