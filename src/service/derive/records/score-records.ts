import { isoText, midnightMs } from '../../../base/time/local-time.ts'
import type { Derivation } from '../days/derivation.ts'
import type { Factor } from '../days/factors.ts'
import { type Score, stateOf } from '../days/scores.ts'
import { ageOn } from '../model/demographics.ts'
import { vitalFactorNames } from '../model/model.ts'
import { nightFactorNames } from '../model/score-definitions.ts'
import { roundTo } from '../model/statistics.ts'
import { type Draft, dayUnit, draftOf, recordId } from './draft.ts'

const exerciseFactorNames = new Set<string>(['intense_activity_duration', 'exercise_strain_capacity'])

export function dayScoreDrafts(derivation: Derivation, day: number): Draft[] {
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
