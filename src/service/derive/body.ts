import type { DaySource } from './day-source.ts'
import type { Measure } from './facts.ts'
import type { Log } from './log.ts'
import { roundTo } from './statistics.ts'

/** Kinds of which the last measure of a day is the day's, with the biomarker each gives. */
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

/** What was measured on the day itself; what stays known afterwards is decided where days are looked at together. */
export function bodyMeasures({ shelf, day, better, trace }: DaySource): Record<string, Measure> {
  const measures: Record<string, Measure> = {}
  for (const [kind, name] of Object.entries(lastOfDay)) {
    const ordered = shelf.on(day, kind).toSorted((a, b) => b.startAt - a.startAt || better(a, b))
    const last = ordered[0]
    if (!last) continue
    measures[name] = { value: roundTo(measureOf(last), 4) }
    trace?.used(last, name, last.value)
    for (const log of ordered.slice(1)) trace?.left(log, name, 'a later measure of the same day is there')
  }
  return measures
}

/** Fat as a percentage, lengths in metres. */
function measureOf(log: Log): number {
  if (log.dataType === 'body_fat' && log.value <= 1) return log.value * 100
  if (log.unit === 'cm') return log.value / 100
  return log.value
}
