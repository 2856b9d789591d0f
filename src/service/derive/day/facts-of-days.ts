import type { Demographics } from '../model/demographics.ts'
import type { DayFacts } from './facts.ts'
import { factsOfDay } from './facts-of-day.ts'
import { logComparator } from './log-ranking.ts'
import { createLogsByDay } from './logs-by-day.ts'
import type { DataLog, Lineage } from './parsed-log.ts'

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
