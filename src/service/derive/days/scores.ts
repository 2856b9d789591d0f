import type { scoreTypes } from '../../../base/contract/score.ts'
import type { FactorName } from '../model/model.ts'
import {
  type ScoreDefinition,
  scoreDefinitions,
  stateFloors,
  weightEntries,
  weightShareMin,
} from '../model/score-definitions.ts'
import { roundTo } from '../model/statistics.ts'
import type { Factor, Factors } from './factors.ts'

export type ScoreType = (typeof scoreTypes)[number]

/** A factor's part in a score. `weight` is its share after the weights of absent factors were redistributed. */
type ScorePart = { readonly factor: Factor; readonly weight: number }

/** `weightShare` is the weight of the present factors, before it was scaled up. */
export type Score = {
  readonly type: ScoreType
  readonly value: number
  readonly weightShare: number
  readonly parts: readonly ScorePart[]
}

export type Scores = Partial<Record<ScoreType, Score>>

export function scoresFrom(factors: Factors): Scores {
  const scores: Scores = {}
  for (const [type, definition] of definitions) {
    const score = scoreFrom(type, definition, factors)
    if (score) scores[type] = score
  }
  const { activity, sleep } = scores
  if (activity && sleep) scores.wellbeing = wellbeingFrom(activity, sleep)
  return scores
}

const definitions: readonly (readonly [Exclude<ScoreType, 'wellbeing'>, ScoreDefinition])[] = [
  ['activity', scoreDefinitions.activity],
  ['sleep', scoreDefinitions.sleep],
  ['readiness', scoreDefinitions.readiness],
  ['mental_wellbeing', scoreDefinitions.mental_wellbeing],
]

/** A factor as a score counts it: a personal score takes the judgement against the own days, and no other. */
export function countedFactor({ isPersonal }: ScoreDefinition, factors: Factors, name: FactorName): Factor | undefined {
  const factor = factors[name]
  if (!factor || !isPersonal || factor.basis === 'personal') return factor
  return factor.own && { ...factor, ...factor.own, basis: 'personal' }
}

/** The weighted mean of the factors' scores; null where too little is known for the definition. */
function scoreFrom(type: ScoreType, definition: ScoreDefinition, factors: Factors): Score | null {
  const present = weightEntries(definition).flatMap(([name, weight]) => {
    const factor = countedFactor(definition, factors, name)
    return factor ? [{ factor, weight }] : []
  })
  const weightShare = present.reduce((sum, { weight }) => sum + weight, 0)
  if (present.length === 0) return null
  const { requiredFactor } = definition
  if (requiredFactor) {
    if (!countedFactor(definition, factors, requiredFactor) || weightShare < weightShareMin - 1e-9) return null
  }
  const parts = present.map(({ factor, weight }) => ({ factor, weight: weight / weightShare }))
  const value = parts.reduce((sum, { factor, weight }) => sum + weight * factor.score, 0)
  return { type, value: Math.min(1, Math.max(0, value)), weightShare, parts }
}

function wellbeingFrom(activity: Score, sleep: Score): Score {
  const halved = ({ parts }: Score) => parts.map(({ factor, weight }) => ({ factor, weight: weight / 2 }))
  return {
    type: 'wellbeing',
    value: (activity.value + sleep.value) / 2,
    weightShare: (activity.weightShare + sleep.weightShare) / 2,
    parts: [...halved(activity), ...halved(sleep)],
  }
}

export function stateOf(score: number): 'minimal' | 'low' | 'medium' | 'high' {
  // The state belongs to the value that is served.
  const served = roundTo(score, 2)
  if (served >= stateFloors.high) return 'high'
  if (served >= stateFloors.medium) return 'medium'
  return served >= stateFloors.low ? 'low' : 'minimal'
}
