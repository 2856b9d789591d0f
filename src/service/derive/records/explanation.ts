import { compareText } from '../../../text/compare-text.ts'
import { dayNumberAt, dayText, isoText } from '../../../time/local-days.ts'
import type { DayFacts } from '../day/facts.ts'
import { factsOfDays } from '../day/facts-of-days.ts'
import type { DataLog, Lineage } from '../day/parsed-log.ts'
import { createDerivation, type Derivation } from '../days/derivation.ts'
import { type MissingDay, missingReason } from '../days/missing-reasons.ts'
import { type ScoreType, stateOf } from '../days/scores.ts'
import type { Demographics } from '../model/demographics.ts'
import { type FactorName, modelVersion } from '../model/model.ts'
import { scoreDefinitions, weightEntries } from '../model/score-definitions.ts'
import { roundTo } from '../model/statistics.ts'

export type ExplainedFactor = {
  name: string
  value: number
  goal: number
  unit: string
  score: number
  /** Its share of the score, after the weights of absent factors were redistributed. */
  weight: number
  /** Its part of the score's value: weight × score. */
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
  /** The kind or factor that the log was considered for. */
  as: string
  /** How much of a used log counts. */
  amount?: number
  /** Why a log was left out. */
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
  /** Absent factors, each with the reason. */
  missing: { name: string; weight: number; reason: string }[]
  used: ExplainedLog[]
  leftOut: ExplainedLog[]
}

const notice = 'An estimate of wellness. It diagnoses nothing.'

/**
 * The kinds of the day's logs that a factor depends on. A factor that depends on earlier days too depends on the same
 * kinds there; strain depends on earlier days only.
 */
const kindsOfFactor: Readonly<Record<FactorName, readonly string[]>> = {
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

type ExplainInput = {
  /** Logs around the day; the logs of two days before and after are enough. */
  logs: readonly DataLog[]
  /** Stored facts of the days before; the facts of the day itself are derived again from the logs. */
  facts: readonly DayFacts[]
  demographics: Demographics
  sourcePriority?: readonly string[]
  asOfMs: number
  day: number
  type: ScoreType
}

/** Explains a score: derives it again, with a listener to its lineage. */
export function explainScore({ facts, day, type, ...input }: ExplainInput): Explanation {
  const { demographics, asOfMs } = input
  const listener = createLineageListener(day)
  const [own] = factsOfDays({ ...input, lineage: listener.lineage }, [day])
  const all = [...facts.filter((one) => one.day !== day), ...(own ? [own] : [])]
  const derivation = createDerivation({ profileId: '', demographics, asOfMs, facts: all })
  const factors = derivation.factors(day)
  const score = derivation.scores(day)[type]
  const weights = weightsOf(type)
  const on: MissingDay = { facts: own, isOver: own !== undefined && derivation.series.isOver(own) }
  const present = Object.values(factors).filter(({ name }) => weights.has(name))
  const kinds = new Set([...weights.keys()].flatMap((name) => kindsOfFactor[name]))
  const isRelevant = (log: ExplainedLog) =>
    kinds.has(log.as) || (log.as.startsWith('sleep_stage_') && kinds.has('sleep'))
  return {
    score: type,
    date: dayText(day),
    value: score ? roundTo(score.value, 2) : null,
    state: score ? stateOf(score.value) : null,
    coverage: roundTo(score?.weightShare ?? present.reduce((sum, { name }) => sum + (weights.get(name) ?? 0), 0), 2),
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
      .map(([name, weight]) => ({ name, weight: roundTo(weight, 4), reason: missingReason(name, on) })),
    used: listener.used().filter(isRelevant),
    leftOut: listener.leftOut().filter(isRelevant),
  }
}

/** The weights of a score's factors; for wellbeing the weights of activity and of sleep, halved. */
function weightsOf(type: ScoreType): Map<FactorName, number> {
  if (type !== 'wellbeing') return new Map(weightEntries(scoreDefinitions[type]))
  const both = [...weightEntries(scoreDefinitions.activity), ...weightEntries(scoreDefinitions.sleep)]
  return new Map(both.map(([name, weight]) => [name, weight / 2]))
}

function reasonFor(type: ScoreType, derivation: Derivation, on: MissingDay & { day: number }): string {
  if (type === 'wellbeing') {
    const absent = (['activity', 'sleep'] as const).filter((half) => !derivation.scores(on.day)[half])
    return absent.map((half) => `there is no ${half} score (${reasonFor(half, derivation, on)})`).join(', and ')
  }
  const { requiredFactor } = scoreDefinitions[type]
  if (derivation.factors(on.day)[requiredFactor]) return 'less than half of the weight of its factors is there'
  return missingReason(requiredFactor, on)
}

/** Collects what became of each log, once for each log and reason; logs that were left out only near the day. */
function createLineageListener(day: number) {
  const [used, leftOut] = [new Map<string, ExplainedLog>(), new Map<string, ExplainedLog>()]
  const isNear = (log: DataLog) => Math.abs(dayNumberAt(log.startMs, log.startOffset) - day) <= 1
  const lineage: Lineage = {
    used: (log, as, amount) =>
      void used.set(`${log.id} ${as}`, { ...explainedLog(log, as), amount: roundTo(amount, 2) }),
    leftOut: (log, as, reason) => {
      if (isNear(log)) leftOut.set(`${log.id} ${as} ${reason}`, { ...explainedLog(log, as), reason })
    },
  }
  return {
    lineage,
    used: () => [...used.values()].sort(byStart),
    leftOut: () => [...leftOut.values()].sort(byStart),
  }
}

function byStart(a: ExplainedLog, b: ExplainedLog): number {
  return Date.parse(a.startDateTime) - Date.parse(b.startDateTime) || compareText(a.id, b.id)
}

function explainedLog(
  { id, dataType, source, deviceType, startMs, endMs, startOffset, endOffset, value }: DataLog,
  as: string,
) {
  const [startDateTime, endDateTime] = [isoText(startMs, startOffset), isoText(endMs, endOffset)]
  return { id, dataType, source, deviceType, startDateTime, endDateTime, value, as }
}
