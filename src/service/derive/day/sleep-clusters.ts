import { type Span, union } from '../../../base/time/spans.ts'
import { sweepLine } from '../../../base/time/sweep-line.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { sleepRules } from '../model/model.ts'
import { sleepDayOf } from './day-bounds.ts'
import { groupByInstrument } from './log-ranking.ts'
import type { DayInputs } from './logs-by-day.ts'
import type { DataLog, Lineage } from './parsed-log.ts'

export type SleepStage = 'awake' | 'out_of_bed' | 'rem' | 'deep' | 'light' | 'sleeping' | 'in_bed'

/** One span in bed, as its best instrument recorded it. */
export type SleepCluster = {
  readonly span: Span
  /** The sleep day (18:00 to 18:00) that the middle of the span lies in. */
  readonly wakeDay: number
  readonly offset: number
  /** Stages of one instrument without overlaps, in order of time. */
  readonly stages: readonly (Span & { readonly stage: SleepStage })[]
  readonly asleep: readonly Span[]
  readonly inBed: readonly Span[]
  readonly hasStages: boolean
  readonly hasAwake: boolean
  readonly hasInBed: boolean
  /** Only time in bed is known: all of it that is not time awake counts as asleep, and the figures derived from it are estimates. */
  readonly estimated: boolean
}

const prefix = 'sleep_stage_'

/** The stage that a moment has when one instrument records two stages for it: the first of this list. */
const precedence: readonly SleepStage[] = ['out_of_bed', 'awake', 'rem', 'deep', 'light', 'sleeping', 'in_bed']
const asleepStages: readonly SleepStage[] = ['rem', 'deep', 'light', 'sleeping']

type InstrumentNight = {
  logs: readonly DataLog[]
  stages: (Span & { stage: SleepStage })[]
  /** 3 with stages, 2 with mere sleep, 1 with mere time in bed, 0 with time awake alone. */
  quality: number
  asleepMs: number
}

/** All spans in bed around a day, in order. Logs less than an hour apart belong together. */
export function sleepClusters(inputs: DayInputs): SleepCluster[] {
  const { logsByDay, day } = inputs
  const logs = logsByDay
    .dataTypesAround(day, prefix)
    .flatMap((kind) => logsByDay.around(day, kind))
    .filter((log) => log.endMs > log.startMs)
    .sort((a, b) => a.startMs - b.startMs)
  const joined = union(logs, sleepRules.clusterGapMinutes * MINUTE)
  const groups: DataLog[][] = joined.map(() => [])
  let index = 0
  for (const log of logs) {
    while ((joined[index]?.endMs ?? Number.POSITIVE_INFINITY) <= log.startMs) index += 1
    groups[index]?.push(log)
  }
  return groups.flatMap((group) => clusterOf(group, inputs))
}

function clusterOf(logs: readonly DataLog[], { sourcePriority, lineage, day }: DayInputs): SleepCluster[] {
  const parents = new Set(logs.map(({ parentId }) => parentId))
  const nights = groupByInstrument(logs, sourcePriority).map((instrumentLogs) =>
    nightByInstrument(instrumentLogs, parents),
  )
  const best = nights.toSorted((a, b) => b.quality - a.quality || b.asleepMs - a.asleepMs)[0]
  const last = best?.stages.at(-1)
  const first = best?.stages[0]
  if (!best || !last || !first) return []
  const span = { startMs: first.startMs, endMs: last.endMs }
  const ending = best.logs.reduce((latest, log) => (endsLater(log, latest) ? log : latest))
  const wakeDay = sleepDayOf((span.startMs + span.endMs) / 2, ending.endOffset)
  if (lineage && wakeDay === day) for (const night of nights) reportLineage(lineage, night, night === best)
  const kinds = new Set(best.stages.map(({ stage }) => stage))
  const estimated = best.quality === 1
  const inBed = union(best.stages.filter(({ stage }) => stage !== 'out_of_bed'))
  const asleep = union(
    best.stages.filter(({ stage }) => (estimated ? stage === 'in_bed' : asleepStages.includes(stage))),
  )
  return [
    {
      span,
      wakeDay,
      offset: ending.endOffset,
      stages: best.stages,
      asleep,
      inBed,
      hasStages: best.quality === 3,
      hasAwake: kinds.has('awake') || kinds.has('out_of_bed'),
      hasInBed: best.logs.some((log) => stageOf(log, parents) === 'in_bed'),
      estimated,
    },
  ]
}

function endsLater(a: DataLog, b: DataLog): boolean {
  return a.endMs > b.endMs || (a.endMs === b.endMs && a.endOffset > b.endOffset)
}

/** A night as one instrument recorded it. Stages of two devices are never mixed: they disagree on where a stage begins. */
function nightByInstrument(logs: readonly DataLog[], parents: ReadonlySet<string | null>): InstrumentNight {
  const items = logs.map((log) => ({ startMs: log.startMs, endMs: log.endMs, stage: stageOf(log, parents) }))
  const stages = sweepLine(items, (a, b) => precedence.indexOf(a.stage) - precedence.indexOf(b.stage)).map(
    ({ startMs, endMs, of }) => ({ startMs, endMs, stage: of.stage }),
  )
  const asleepMs = stages.reduce(
    (total, { stage, startMs, endMs }) => total + (asleepStages.includes(stage) ? endMs - startMs : 0),
    0,
  )
  const staged = stages.some(({ stage }) => stage === 'rem' || stage === 'deep' || stage === 'light')
  const inBed = stages.some(({ stage }) => stage === 'in_bed')
  return { logs, stages, asleepMs, quality: staged ? 3 : asleepMs > 0 ? 2 : inBed ? 1 : 0 }
}

/** A session that has stages as children is only the time in bed around them. */
function stageOf(log: DataLog, parents: ReadonlySet<string | null>): SleepStage {
  if (parents.has(log.id)) return 'in_bed'
  const name = log.dataType.slice(prefix.length)
  if (name === 'awake_in_or_out_of_bed') return 'awake'
  return precedence.find((stage) => stage === name) ?? 'in_bed'
}

function reportLineage(lineage: Lineage, night: InstrumentNight, isBest: boolean): void {
  for (const log of night.logs) {
    if (isBest) lineage.used(log, 'sleep', (log.endMs - log.startMs) / MINUTE)
    else lineage.leftOut(log, 'sleep', 'another source tells this night better, and stages of two are not mixed')
  }
}
