import { dayNumberAt } from '../../../base/time/local-time.ts'
import { subtract, union } from '../../../base/time/spans.ts'
import { MINUTE } from '../../../base/time/units.ts'
import type { Demographics } from '../model/demographics.ts'
import { roundTo } from '../model/statistics.ts'
import { dayBoundsOf } from './day-bounds.ts'
import { sessionsAround } from './exercise-sessions.ts'
import type { DayFacts, DayMeasure } from './facts.ts'
import { logComparator } from './log-ranking.ts'
import { createLogsByDay, type DayInputs } from './logs-by-day.ts'
import { amountsOn } from './merged-amounts.ts'
import { movementFacts } from './movement-facts.ts'
import { asleepByClock, mainSleep, napsOf, nightFacts } from './night-facts.ts'
import type { DataLog, Lineage } from './parsed-log.ts'
import { sleepClusters } from './sleep-clusters.ts'
import { vitalMeasures } from './vital-measures.ts'

export type FactsInput = {
  logs: readonly DataLog[]
  demographics: Demographics
  asOfMs: number
  /** The account's order of sources, best first, by source or device type; empty for the model's own order. */
  sourcePriority?: readonly string[]
  lineage?: Lineage
}

/**
 * The facts of the wanted days (by default of all days that logs say something about), from the logs alone. A log that
 * starts after `asOfMs` is not known yet. Deriving one day gives the facts that deriving all days gives for that day.
 */
export function factsOfDays(input: FactsInput, days?: readonly number[]): DayFacts[] {
  const { demographics, asOfMs, sourcePriority = [], lineage } = input
  const known = input.logs.filter((log) => log.startMs <= asOfMs)
  const logsByDay = createLogsByDay(known, lineage)
  const compareLogs = logComparator(sourcePriority)
  const wanted =
    days ?? [...new Set(logsByDay.days.flatMap((day) => [day - 1, day, day + 1, day + 2]))].sort((a, b) => a - b)
  return wanted.flatMap(
    (day) => factsOfDay({ logsByDay, day, compareLogs, sourcePriority, demographics, lineage }) ?? [],
  )
}

/**
 * The facts of one local day, from nothing but the logs that start within `neighbourDays` of it: because of that bound,
 * deriving one day again gives the same as deriving everything. Null when no log says anything about the day.
 */
function factsOfDay(inputs: DayInputs): DayFacts | null {
  const { day } = inputs
  const bounds = dayBoundsOf(inputs.logsByDay, day)
  if (!bounds) return null
  const clusters = sleepClusters(inputs)
  const sessions = sessionsAround(inputs)
  const steps = amountsOn({ ...inputs, bounds }, 'steps')
  const movement = movementFacts({ ...inputs, bounds, clusters, sessions }, steps)
  const main = mainSleep(clusters, day)
  const night = nightFacts(clusters, day)
  const naps = napsOf(clusters, day)
  const atRest = subtract([bounds.span], union([...clusters.flatMap(({ inBed }) => inBed), ...steps]))
  const measures = { ...vitalMeasures({ ...inputs, main, atRest }), ...bodyMeasures(inputs) }
  const exercise = sessions
    .filter(({ log }) => dayNumberAt(log.startMs, log.startOffset) === day)
    .map(({ exercise, startMs, endMs }) => ({ exercise, minutes: roundTo((endMs - startMs) / MINUTE, 3) }))
  const asleep = asleepByClock(clusters, day)
  const isEmpty = !movement && asleep.length === 0 && exercise.length === 0 && Object.keys(measures).length === 0
  return isEmpty ? null : { day, offset: bounds.offset, movement, night, naps, asleep, exercise, measures }
}

/** Each kind gives one biomarker: the last measure of a day is the measure of that day. */
const lastOfDay = {
  height: 'height',
  weight: 'weight',
  body_fat: 'body_fat',
  lean_body_mass: 'lean_mass',
  waist_circumference: 'waist_circumference',
  body_mass_index: 'body_mass_index',
  basal_metabolic_rate: 'resting_energy_burned',
  vo2_max: 'vo2_max',
} as const

/** Measures taken on the day itself. How long a measure stays known is decided in days/, where several days are known. */
function bodyMeasures({ logsByDay, day, compareLogs, lineage }: DayInputs): Record<string, DayMeasure> {
  const measures: Record<string, DayMeasure> = {}
  for (const [kind, name] of Object.entries(lastOfDay)) {
    const ordered = logsByDay.on(day, kind).toSorted((a, b) => b.startMs - a.startMs || compareLogs(a, b))
    const last = ordered[0]
    if (!last) continue
    measures[name] = { value: roundTo(measureOf(last), 4) }
    lineage?.used(last, name, last.value)
    for (const log of ordered.slice(1)) lineage?.leftOut(log, name, 'a later measure of the same day is there')
  }
  return measures
}

/** Fat as a percentage, lengths in metres. */
function measureOf(log: DataLog): number {
  if (log.dataType === 'body_fat' && log.value <= 1) return log.value * 100
  if (log.unit === 'cm') return log.value / 100
  return log.value
}
