import { MINUTE } from '../../window.ts'
import type { Log } from './log.ts'
import { byInstrument } from './rank.ts'
import { median } from './statistics.ts'

/** One minute's reading: the median of what the best instrument with a sample in that minute says. */
export type Sample = { readonly at: number; readonly value: number }

/** Aggregated logs speak only where no raw log of the kind is there at all. Sorted by time. */
export function minuteSamples(logs: readonly Log[], sourcePriority: readonly string[]): Sample[] {
  const raw = logs.filter((log) => log.periodicity === null)
  const minutes = new Map<number, number>()
  for (const instrument of byInstrument(raw.length > 0 ? raw : logs, sourcePriority)) {
    const own = new Map<number, number[]>()
    for (const log of instrument) {
      const at = Math.floor((log.startAt + log.endAt) / 2 / MINUTE) * MINUTE
      if (minutes.has(at)) continue
      const there = own.get(at)
      if (there) there.push(log.value)
      else own.set(at, [log.value])
    }
    for (const [at, values] of own) minutes.set(at, values.length === 1 ? (values[0] ?? 0) : median(values))
  }
  return [...minutes].map(([at, value]) => ({ at, value })).sort((a, b) => a.at - b.at)
}
