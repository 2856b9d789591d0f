import type { Derivation } from './derivation.ts'
import type { Factor } from './factors.ts'
import { isoAt, midnightAt } from './local-time.ts'
import { ageOn, sexOf } from './log.ts'
import { nightFactors, vitalFactors } from './model.ts'
import { type Draft, dayUnit, recordId } from './records.ts'
import { type Score, stateOf } from './scores.ts'
import { roundTo } from './statistics.ts'

const fromIntensity = new Set<string>(['intense_activity_duration', 'exercise_strain_capacity'])

export function dayScores(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts) return []
  const startAt = midnightAt(day, facts.offset)
  return Object.values(derivation.scores(day)).map((score) => {
    const id = recordId(derivation.profileId, ['score', score.type, dayUnit(day)])
    return {
      kind: 'score' as const,
      id,
      name: score.type,
      category: null,
      periodicity: null,
      unit: dayUnit(day),
      startAt,
      endAt: startAt,
      body: {
        id,
        type: score.type,
        value: roundTo(score.value, 2),
        state: stateOf(score.value),
        factors: score.parts.map(({ factor }) => factorRecord(derivation, factor, { score: score.type, day })),
        scoreDateTime: isoAt(startAt, facts.offset),
        dataSources: sourcesOf(derivation, score, day),
      },
    }
  })
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
  const fromNight = names.filter((name) => nightFactors.includes(name))
  const fromVitals = names.filter((name) => vitalFactors.includes(name))
  const aged = names.includes('steps') || names.includes('sleep_duration')
  const bySex = parts.some(({ factor }) => factor.basis === 'population') && sexOf(derivation.person) !== null
  const trained = names.some((name) => fromIntensity.has(name)) && derivation.hasTrained(day)
  return [
    ...(aged && ageOn(derivation.person, day) !== null ? ['age'] : []),
    ...(bySex ? ['gender'] : []),
    ...(fromNight.length > 0 ? ['sleep'] : []),
    ...(names.length > fromNight.length + fromVitals.length ? ['activity'] : []),
    ...(trained ? ['exercise'] : []),
    ...(fromVitals.length > 0 ? ['vitals'] : []),
  ]
}
