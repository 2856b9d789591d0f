import { createDerivation, type Derivation } from './derivation.ts'
import { factsOf } from './derive.ts'
import type { DayFacts } from './facts.ts'
import { dayAt, dayText, isoAt } from './local-time.ts'
import type { Log, Person, Trace } from './log.ts'
import { type MissingOn, whyMissing } from './missing.ts'
import { type FactorName, modelVersion, recipes, type ScoreRecipe } from './model.ts'
import { type ScoreType, stateOf } from './scores.ts'
import { roundTo } from './statistics.ts'

export type ExplainedFactor = {
  name: string
  value: number
  goal: number
  unit: string
  score: number
  /** Its share of the score, after absent factors handed theirs on. */
  weight: number
  /** What it adds to the score's value: weight × score. */
  contribution: number
  basis?: string
}

export type ExplainedLog = {
  id: string
  dataType: string
  source: string
  deviceType: string
  startDateTime: string
  endDateTime: string
  value: number
  /** What it was looked at as, and for those used how much of it counts. */
  as: string
  amount?: number
  reason?: string
}

export type Explanation = {
  score: ScoreType
  date: string
  value: number | null
  state: string | null
  coverage: number
  modelVersion: string
  notice: string
  /** Why there is no score; null when there is one. */
  reason: string | null
  factors: ExplainedFactor[]
  /** Factors that are not there, each with why. */
  missing: { name: string; weight: number; reason: string }[]
  used: ExplainedLog[]
  leftOut: ExplainedLog[]
}

export const notice = 'An estimate of wellness. It diagnoses nothing.'

/**
 * Which logs of the day a factor looks at. Those that look at earlier days too are made of the same kinds there; strain
 * looks at earlier days alone.
 */
const kindsOf: Readonly<Record<FactorName, readonly string[]>> = {
  steps: ['steps'],
  active_hours: ['steps', 'exercise'],
  active_calories: ['active_energy_burned'],
  intense_activity_duration: ['steps', 'exercise'],
  extended_inactivity: ['steps', 'sleep'],
  floors_climbed: ['floors_climbed'],
  activity_regularity: ['steps'],
  sleep_duration: ['sleep'],
  sleep_regularity: ['sleep'],
  sleep_continuity: ['sleep'],
  sleep_debt: ['sleep'],
  circadian_alignment: ['sleep'],
  physical_recovery: ['sleep'],
  mental_recovery: ['sleep'],
  walking_strain_capacity: [],
  exercise_strain_capacity: [],
  resting_heart_rate: ['resting_heart_rate', 'heart_rate'],
  heart_rate_variability: ['heart_rate_variability_rmssd', 'heart_rate_variability_sdnn'],
}

export type ExplainInput = {
  /** Logs around the day; those of two days before and after are enough. */
  logs: readonly Log[]
  /** Facts of the days before, as they are kept; those of the day itself are made anew. */
  facts: readonly DayFacts[]
  person: Person
  sourcePriority?: readonly string[]
  asOf: number
  day: number
  type: ScoreType
}

/** Where a score comes from: the same derivation again, listened to. */
export function explainScore({ facts, day, type, ...input }: ExplainInput): Explanation {
  const { person, asOf } = input
  const listener = createListener(day)
  const [own] = factsOf({ ...input, trace: listener.trace }, [day])
  const all = [...facts.filter((one) => one.day !== day), ...(own ? [own] : [])]
  const derivation = createDerivation({ profileId: '', person, asOf, facts: all })
  const factors = derivation.factors(day)
  const score = derivation.scores(day)[type]
  const weights = weightsOf(type)
  const on: MissingOn = { facts: own, isOver: own !== undefined && derivation.series.isClosed(own) }
  const present = Object.values(factors).filter(({ name }) => weights.has(name))
  const kinds = new Set([...weights.keys()].flatMap((name) => kindsOf[name]))
  const about = (log: ExplainedLog) => kinds.has(log.as) || (log.as.startsWith('sleep_stage_') && kinds.has('sleep'))
  return {
    score: type,
    date: dayText(day),
    value: score ? roundTo(score.value, 2) : null,
    state: score ? stateOf(score.value) : null,
    coverage: roundTo(score?.coverage ?? present.reduce((sum, { name }) => sum + (weights.get(name) ?? 0), 0), 2),
    modelVersion,
    notice,
    reason: score ? null : reasonFor(type, derivation, { ...on, day }),
    factors: (score?.parts ?? present.map((factor) => ({ factor, weight: 0 }))).map(({ factor, weight }) => ({
      name: factor.name,
      value: roundTo(factor.value, 2),
      goal: roundTo(factor.goal, 2),
      unit: factor.unit,
      score: roundTo(factor.score, 2),
      weight: roundTo(weight, 4),
      contribution: roundTo(weight * factor.score, 4),
      ...(factor.basis ? { basis: factor.basis } : {}),
    })),
    missing: [...weights]
      .filter(([name]) => !factors[name])
      .map(([name, weight]) => ({ name, weight: roundTo(weight, 4), reason: whyMissing(name, on) })),
    used: listener.used().filter(about),
    leftOut: listener.left().filter(about),
  }
}

/** Of wellbeing: the weights of activity and of sleep, halved. */
function weightsOf(type: ScoreType): Map<FactorName, number> {
  const entries = (recipe: ScoreRecipe) => Object.entries(recipe.weights) as [FactorName, number][]
  if (type !== 'wellbeing') return new Map(entries(recipes[type]))
  const both = [...entries(recipes.activity), ...entries(recipes.sleep)]
  return new Map(both.map(([name, weight]) => [name, weight / 2]))
}

function reasonFor(type: ScoreType, derivation: Derivation, on: MissingOn & { day: number }): string {
  if (type === 'wellbeing') {
    const halves = (['activity', 'sleep'] as const).filter((half) => !derivation.scores(on.day)[half])
    return halves.map((half) => `there is no ${half} score (${reasonFor(half, derivation, on)})`).join(', and ')
  }
  const { anchor } = recipes[type]
  if (derivation.factors(on.day)[anchor]) return 'less than half of the weight of its factors is there'
  return whyMissing(anchor, on)
}

function createListener(day: number) {
  const [used, left] = [new Map<string, ExplainedLog>(), new Map<string, ExplainedLog>()]
  const near = (log: Log) => Math.abs(dayAt(log.startAt, log.startOffset) - day) <= 1
  const trace: Trace = {
    used: (log, as, amount) => void used.set(`${log.id} ${as}`, { ...shown(log, as), amount: roundTo(amount, 2) }),
    left: (log, as, reason) => {
      if (near(log)) left.set(`${log.id} ${as} ${reason}`, { ...shown(log, as), reason })
    },
  }
  return {
    trace,
    used: () => [...used.values()].sort(byStart),
    left: () => [...left.values()].sort(byStart),
  }
}

function byStart(a: ExplainedLog, b: ExplainedLog): number {
  return Date.parse(a.startDateTime) - Date.parse(b.startDateTime) || (a.id < b.id ? -1 : 1)
}

function shown({ id, dataType, source, deviceType, startAt, endAt, startOffset, endOffset, value }: Log, as: string) {
  const [startDateTime, endDateTime] = [isoAt(startAt, startOffset), isoAt(endAt, endOffset)]
  return { id, dataType, source, deviceType, startDateTime, endDateTime, value, as }
}
