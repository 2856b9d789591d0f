import { MINUTE } from '../../window.ts'
import type { DaySource } from './day-source.ts'
import { clockAt, dayAt } from './local-time.ts'
import type { Log, Trace } from './log.ts'
import { sleepRules } from './model.ts'
import { byInstrument } from './rank.ts'
import { type Span, union } from './spans.ts'
import { sweep } from './sweep.ts'

export type Stage = 'awake' | 'out_of_bed' | 'rem' | 'deep' | 'light' | 'sleeping' | 'in_bed'

/** One stretch of lying down, as its best source tells it. */
export type SleepCluster = {
  readonly span: Span
  /** The local day it is counted to: that of its middle, in a day from 18:00 to 18:00. */
  readonly wakeDay: number
  readonly offset: number
  /** Stages of one source without overlaps, in order of time. */
  readonly stages: readonly (Span & { readonly stage: Stage })[]
  readonly asleep: readonly Span[]
  readonly inBed: readonly Span[]
  readonly hasStages: boolean
  readonly hasAwake: boolean
  readonly hasInBed: boolean
  /** Nothing but time in bed is known: all of it counts as asleep, and figures made from it are estimates. */
  readonly estimated: boolean
}

const prefix = 'sleep_stage_'

/** Which stage a moment has when one source calls it two things. */
const precedence: readonly Stage[] = ['out_of_bed', 'awake', 'rem', 'deep', 'light', 'sleeping', 'in_bed']
export const asleepStages: readonly Stage[] = ['rem', 'deep', 'light', 'sleeping']

type Told = { logs: readonly Log[]; stages: (Span & { stage: Stage })[]; quality: number; asleepMs: number }

/** All stretches of lying down around a day, in order. Records less than an hour apart belong together. */
export function sleepClusters(source: DaySource): SleepCluster[] {
  const { shelf, day } = source
  const logs = shelf
    .kindsAround(day, prefix)
    .flatMap((kind) => shelf.around(day, kind))
    .filter((log) => log.endAt > log.startAt)
    .sort((a, b) => a.startAt - b.startAt)
  const joined = union(logs, sleepRules.clusterGapMinutes * MINUTE)
  const groups: Log[][] = joined.map(() => [])
  let place = 0
  for (const log of logs) {
    while ((joined[place]?.endAt ?? Number.POSITIVE_INFINITY) <= log.startAt) place += 1
    groups[place]?.push(log)
  }
  return groups.flatMap((group) => clusterOf(group, source))
}

function clusterOf(logs: readonly Log[], { sourcePriority, trace, day }: DaySource): SleepCluster[] {
  const parents = new Set(logs.flatMap((log) => (log.parentId === null ? [] : [log.parentId])))
  const told = byInstrument(logs, sourcePriority).map((own) => tell(own, parents))
  const best = told.toSorted((a, b) => b.quality - a.quality || b.asleepMs - a.asleepMs)[0]
  const last = best?.stages.at(-1)
  const first = best?.stages[0]
  if (!best || !last || !first) return []
  const span = { startAt: first.startAt, endAt: last.endAt }
  const ending = best.logs.reduce((latest, log) => (endsLater(log, latest) ? log : latest))
  const wakeDay = sleepDay((span.startAt + span.endAt) / 2, ending.endOffset)
  if (trace && wakeDay === day) told.forEach((one) => void traceSource(trace, one, one === best))
  const kinds = new Set(best.stages.map(({ stage }) => stage))
  const estimated = best.quality === 0
  const inBed = union(best.stages.filter(({ stage }) => stage !== 'out_of_bed'))
  const asleep = estimated ? inBed : union(best.stages.filter(({ stage }) => asleepStages.includes(stage)))
  return [
    {
      span,
      wakeDay,
      offset: ending.endOffset,
      stages: best.stages,
      asleep,
      inBed,
      hasStages: best.quality === 2,
      hasAwake: kinds.has('awake') || kinds.has('out_of_bed'),
      hasInBed: best.logs.some((log) => stageOf(log, parents) === 'in_bed'),
      estimated,
    },
  ]
}

function endsLater(a: Log, b: Log): boolean {
  return a.endAt > b.endAt || (a.endAt === b.endAt && a.endOffset > b.endOffset)
}

/** The night that an instant belongs to: from 18:00 of one local day to 18:00 of the next, named by the next. */
function sleepDay(at: number, offset: number): number {
  return dayAt(at, offset) + (clockAt(at, offset) >= sleepRules.dayStartsAtHour * 60 ? 1 : 0)
}

/** What one instrument says of a night. Stages of two devices are never mixed: no two agree on where one begins. */
function tell(logs: readonly Log[], parents: ReadonlySet<string>): Told {
  const items = logs.map((log) => ({
    startAt: log.startAt,
    endAt: log.endAt,
    stage: stageOf(log, parents),
    id: log.id,
  }))
  const order = (a: (typeof items)[number], b: (typeof items)[number]) =>
    precedence.indexOf(a.stage) - precedence.indexOf(b.stage) || a.startAt - b.startAt || a.endAt - b.endAt
  const stages = sweep(items, order).map(({ startAt, endAt, of }) => ({ startAt, endAt, stage: of.stage }))
  const asleepMs = stages.reduce(
    (total, { stage, startAt, endAt }) => total + (asleepStages.includes(stage) ? endAt - startAt : 0),
    0,
  )
  const staged = stages.some(({ stage }) => stage === 'rem' || stage === 'deep' || stage === 'light')
  return { logs, stages, asleepMs, quality: staged ? 2 : asleepMs > 0 ? 1 : 0 }
}

/** A session with stages of its own is no more than the time in bed around them. */
function stageOf(log: Log, parents: ReadonlySet<string>): Stage {
  if (parents.has(log.id)) return 'in_bed'
  const name = log.dataType.slice(prefix.length)
  if (name === 'awake_in_or_out_of_bed') return 'awake'
  return precedence.find((stage) => stage === name) ?? 'in_bed'
}

function traceSource(trace: Trace, told: Told, best: boolean): void {
  for (const log of told.logs) {
    if (best) trace.used(log, 'sleep', (log.endAt - log.startAt) / MINUTE)
    else trace.left(log, 'sleep', 'another source tells this night better, and stages of two are not mixed')
  }
}
