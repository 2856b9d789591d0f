import type { Demographics } from '../model/demographics.ts'
import type { LogComparator } from './log-ranking.ts'
import type { LogsByDay } from './logs-by-day.ts'
import type { Lineage } from './parsed-log.ts'

/** Everything that one day is derived from. */
export type DayInputs = {
  readonly logsByDay: LogsByDay
  readonly day: number
  readonly compareLogs: LogComparator
  readonly sourcePriority: readonly string[]
  readonly demographics: Demographics
  readonly lineage?: Lineage | undefined
}
