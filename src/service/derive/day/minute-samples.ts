import { MINUTE } from '../../../base/time/units.ts'
import { median } from '../model/statistics.ts'
import { groupByInstrument } from './log-ranking.ts'
import type { DataLog } from './parsed-log.ts'

/** The value of one minute: the median of the samples that the best instrument has in that minute. */
export type MinuteSample = { readonly atMs: number; readonly value: number }

/** Sorted by time. Aggregated logs count only where there is no raw log of the kind at all. */
export function minuteSamples(logs: readonly DataLog[], sourcePriority: readonly string[]): MinuteSample[] {
  const raw = logs.filter((log) => log.periodicity === null)
  const minutes = new Map<number, number>()
  for (const instrument of groupByInstrument(raw.length > 0 ? raw : logs, sourcePriority)) {
    const byMinute = new Map<number, number[]>()
    for (const log of instrument) {
      const atMs = Math.floor((log.startMs + log.endMs) / 2 / MINUTE) * MINUTE
      if (minutes.has(atMs)) continue
      const values = byMinute.get(atMs)
      if (values) values.push(log.value)
      else byMinute.set(atMs, [log.value])
    }
    for (const [atMs, values] of byMinute) minutes.set(atMs, values.length === 1 ? (values[0] ?? 0) : median(values))
  }
  return [...minutes].map(([atMs, value]) => ({ atMs, value })).sort((a, b) => a.atMs - b.atMs)
}
