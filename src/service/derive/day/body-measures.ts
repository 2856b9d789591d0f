import { roundTo } from '../model/statistics.ts'
import type { DayMeasure } from './facts.ts'
import type { DayInputs } from './logs-by-day.ts'
import type { DataLog } from './parsed-log.ts'

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
export function bodyMeasures({ logsByDay, day, compareLogs, lineage }: DayInputs): Record<string, DayMeasure> {
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
