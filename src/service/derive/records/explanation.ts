import type {
  ExplainedFactor,
  ExplainedLog,
  ExplainedLogGroup,
  Explanation,
} from '../../../base/contract/score-explanation.ts'
import { compareText } from '../../../base/text/compare-text.ts'
import { dayNumberAt, dayText, isoText } from '../../../base/time/local-time.ts'
import type { DayFacts } from '../day/facts.ts'
import { factsOfDays } from '../day/facts-of-days.ts'
import type { DataLog, Lineage } from '../day/parsed-log.ts'
import { createDerivation, type Derivation } from '../days/derivation.ts'
import type { Factor, Factors } from '../days/factors.ts'
import { type MissingDay, missingReason } from '../days/missing-reasons.ts'
import { countedFactor, type Score, type ScoreType, stateOf } from '../days/scores.ts'
import type { Demographics } from '../model/demographics.ts'
import { type FactorName, lookBacks, modelVersion } from '../model/model.ts'
import { type ScoreDefinition, scoreDefinitions, weightEntries } from '../model/score-definitions.ts'
import { roundTo, sum } from '../model/statistics.ts'

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
  sleep_efficiency: ['sleep'],
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
  const [dayFacts] = factsOfDays({ ...input, lineage: listener.lineage }, [day])
  const all = [...facts.filter((fact) => fact.day !== day), ...(dayFacts ? [dayFacts] : [])]
  const derivation = createDerivation({ profileId: '', demographics, asOfMs, facts: all })
  const factors = derivation.factors(day)
  const score = derivation.scores(day)[type]
  const weights = weightsOf(type)
  const on: MissingDay = { facts: dayFacts, isOver: dayFacts !== undefined && derivation.series.isOver(dayFacts) }
  const kinds = new Set([...weights.keys()].flatMap((name) => kindsOfFactor[name]))
  const isRelevant = (log: ExplainedLog) =>
    kinds.has(log.as) || (log.as.startsWith('sleep_stage_') && kinds.has('sleep'))
  const [used, leftOut] = [listener.used(isRelevant), listener.leftOut(isRelevant)]
  const counted = [...weights].filter(([name]) => countedIn(type, factors, name))
  return {
    score: type,
    date: dayText(day),
    value: score ? roundTo(score.value, 2) : null,
    state: score ? stateOf(score.value) : null,
    coverage: roundTo(score?.weightShare ?? sum(counted.map(([, weight]) => weight)), 2),
    modelVersion,
    notice,
    ...(score ? { reason: null, lacks: [] } : absenceOf(type, derivation, { ...on, day })),
    factors: explainedFactors(type, factors, score),
    missing: [...weights]
      .filter(([name]) => !countedIn(type, factors, name))
      .map(([name, weight]) => ({
        name,
        weight: roundTo(weight, 4),
        reason: factors[name] ? notPersonalYet : missingReason(name, on).reason,
      })),
    used: used.logs,
    leftOut: leftOut.logs,
    usedCount: used.count,
    leftOutCount: leftOut.count,
    usedGroups: used.groups,
    leftOutGroups: leftOut.groups,
  }
}

const notPersonalYet = `there are fewer than ${lookBacks.personal.valuesMin} of the ${lookBacks.personal.days} days before to judge it against`

/** A factor as the score counts it; undefined where it is missing, or not yet judged against the person's own days. */
function countedIn(type: ScoreType, factors: Factors, name: FactorName): Factor | undefined {
  return type === 'wellbeing' ? factors[name] : countedFactor(scoreDefinitions[type], factors, name)
}

/** Every factor of the score that has a value on the day, also where it does not count or there is no score. */
function explainedFactors(type: ScoreType, factors: Factors, score: Score | undefined): ExplainedFactor[] {
  const parts = new Map(score?.parts.map(({ factor, weight }) => [factor.name, weight]))
  return [...weightsOf(type).keys()].flatMap((name) => {
    const factor = countedIn(type, factors, name) ?? factors[name]
    if (!factor) return []
    const weight = parts.get(name) ?? 0
    return [
      {
        name,
        value: roundTo(factor.value, 4),
        goal: roundTo(factor.goal, 2),
        unit: factor.unit,
        score: roundTo(factor.score, 2),
        weight: roundTo(weight, 4),
        contribution: roundTo(weight * factor.score, 4),
        ...(factor.basis ? { basis: factor.basis } : {}),
      },
    ]
  })
}

/** The weights of a score's factors; for wellbeing the weights of activity and of sleep, halved. */
function weightsOf(type: ScoreType): Map<FactorName, number> {
  if (type !== 'wellbeing') return new Map(weightEntries(scoreDefinitions[type]))
  const both = [...weightEntries(scoreDefinitions.activity), ...weightEntries(scoreDefinitions.sleep)]
  return new Map(both.map(([name, weight]) => [name, weight / 2]))
}

function absenceOf(
  type: ScoreType,
  derivation: Derivation,
  on: MissingDay & { day: number },
): ReturnType<typeof missingReason> {
  if (type === 'wellbeing') {
    const absent = (['activity', 'sleep'] as const).filter((half) => !derivation.scores(on.day)[half])
    const halves = absent.map((half) => ({ half, ...absenceOf(half, derivation, on) }))
    return {
      reason: halves.map(({ half, reason }) => `there is no ${half} score (${reason})`).join(', and '),
      lacks: halves.flatMap(({ lacks }) => lacks),
    }
  }
  const { requiredFactor }: ScoreDefinition = scoreDefinitions[type]
  if (!requiredFactor) return missingReason('steps', on)
  const factors = derivation.factors(on.day)
  if (countedIn(type, factors, requiredFactor))
    return { reason: 'less than half of the weight of its factors is there', lacks: [] }
  if (factors[requiredFactor]) return { reason: notPersonalYet, lacks: [] }
  return missingReason(requiredFactor, on)
}

/** How many logs and groups are listed: a day may have a hundred thousand logs. `count` is the number of all. */
const logsMax = 50
const groupsMax = 50

const summedAs: readonly string[] = [
  'sleep',
  'exercise',
  'steps',
  'floors_climbed',
  'active_energy_burned',
  'basal_energy_burned',
  'total_energy_burned',
  'exercise_time',
  'active_minutes',
  'active_zone_minutes',
]

function foldedLogs(logs: readonly ExplainedLog[]) {
  const sorted = logs.toSorted(byStart)
  const groups = [...Map.groupBy(sorted, groupKey).values()].flatMap(groupOf)
  const largestFirst = groups.toSorted((a, b) => b.count - a.count || compareText(groupKey(a), groupKey(b)))
  return { count: logs.length, groups: largestFirst.slice(0, groupsMax), logs: sorted.slice(0, logsMax) }
}

function groupKey({ dataType, source, deviceType, as, reason }: ExplainedLog | ExplainedLogGroup): string {
  return JSON.stringify([as, dataType, source, deviceType, reason])
}

function groupOf(logs: readonly ExplainedLog[]): ExplainedLogGroup[] {
  const first = logs[0]
  if (!first) return []
  const { dataType, source, deviceType, as, reason } = first
  const last = logs.reduce((latest, log) => (endMs(log) > endMs(latest) ? log : latest))
  const amounts = logs.flatMap(({ amount }) => amount ?? [])
  return [
    {
      ...{ dataType, source, deviceType, as },
      ...(reason === undefined ? {} : { reason }),
      count: logs.length,
      startDateTime: first.startDateTime,
      endDateTime: last.endDateTime,
      ...(summedAs.includes(as) && amounts.length > 0
        ? {
            amount: roundTo(
              amounts.reduce((sum, amount) => sum + amount, 0),
              2,
            ),
          }
        : {}),
    },
  ]
}

const endMs = ({ endDateTime }: ExplainedLog) => Date.parse(endDateTime)

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
    used: (isRelevant: (log: ExplainedLog) => boolean) => foldedLogs([...used.values()].filter(isRelevant)),
    leftOut: (isRelevant: (log: ExplainedLog) => boolean) => foldedLogs([...leftOut.values()].filter(isRelevant)),
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
