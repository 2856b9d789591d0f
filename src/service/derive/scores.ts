import type { scoreTypes } from '../../contract/score.ts'
import type { Factor, Factors } from './factors.ts'
import { type FactorName, recipes, type ScoreRecipe, stateFloors, weightShareMin } from './model.ts'
import { roundTo } from './statistics.ts'

export type ScoreType = (typeof scoreTypes)[number]

/** A factor's part in a score: `weight` is its share after the weights of absent factors were handed on. */
export type Part = { readonly factor: Factor; readonly weight: number }

/** `coverage` is the weight of the factors that were there, before it was scaled up. */
export type Score = {
  readonly type: ScoreType
  readonly value: number
  readonly coverage: number
  readonly parts: readonly Part[]
}

export type Scores = Partial<Record<ScoreType, Score>>

export function scoresFrom(factors: Factors): Scores {
  const scores: Scores = {}
  for (const [name, recipe] of recipeEntries) {
    const score = scoreFrom(name, recipe, factors)
    if (score) scores[name] = score
  }
  const { activity, sleep } = scores
  if (activity && sleep) scores.wellbeing = wellbeingFrom(activity, sleep)
  return scores
}

const recipeEntries: readonly (readonly [Exclude<ScoreType, 'wellbeing'>, ScoreRecipe])[] = [
  ['activity', recipes.activity],
  ['sleep', recipes.sleep],
  ['readiness', recipes.readiness],
  ['mental_wellbeing', recipes.mental_wellbeing],
]

/** The weighted mean of the factors' scores; none without the anchor, or with less than half of the weight. */
export function scoreFrom(type: ScoreType, { anchor, weights }: ScoreRecipe, factors: Factors): Score | null {
  // Object.entries widens the keys of a record of factor names to strings.
  const present = (Object.entries(weights) as [FactorName, number][]).flatMap(([name, weight]) => {
    const factor = factors[name]
    return factor ? [{ factor, weight }] : []
  })
  const coverage = present.reduce((sum, { weight }) => sum + weight, 0)
  if (!factors[anchor] || coverage < weightShareMin - 1e-9) return null
  const parts = present.map(({ factor, weight }) => ({ factor, weight: weight / coverage }))
  const value = parts.reduce((sum, { factor, weight }) => sum + weight * factor.score, 0)
  return { type, value: Math.min(1, Math.max(0, value)), coverage, parts }
}

function wellbeingFrom(activity: Score, sleep: Score): Score {
  const halved = ({ parts }: Score) => parts.map(({ factor, weight }) => ({ factor, weight: weight / 2 }))
  return {
    type: 'wellbeing',
    value: (activity.value + sleep.value) / 2,
    coverage: (activity.coverage + sleep.coverage) / 2,
    parts: [...halved(activity), ...halved(sleep)],
  }
}

export function stateOf(score: number): 'minimal' | 'low' | 'medium' | 'high' {
  const shown = roundTo(score, 2)
  if (shown >= stateFloors.high) return 'high'
  if (shown >= stateFloors.medium) return 'medium'
  return shown >= stateFloors.low ? 'low' : 'minimal'
}
