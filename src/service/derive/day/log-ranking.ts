import { compareText } from '../../../base/text/compare-text.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { median } from '../model/statistics.ts'
import type { DataLog } from './parsed-log.ts'

const deviceOrder: readonly string[] = ['watch', 'fitness_band', 'ring', 'chest_strap', 'phone']

export type LogComparator = (a: DataLog, b: DataLog) => number

/** A model such as `Watch6,1` counts as the kind of device that its name contains. */
function deviceRank(deviceType: string): number {
  const name = deviceType.toLowerCase()
  const known = deviceOrder.indexOf(name)
  if (known >= 0) return known
  if (name.includes('watch')) return 0
  if (name.includes('phone')) return deviceOrder.indexOf('phone')
  return deviceOrder.length
}

function methodRank(method: string): number {
  if (method === 'automatically_recorded' || method === 'actively_recorded') return 0
  return method === 'manual_entry' ? 2 : 1
}

function levelRank(periodicity: DataLog['periodicity']): number {
  if (periodicity === null) return 0
  return periodicity === 'hourly' ? 1 : 2
}

/** Better instruments first: raw before aggregated, then the account's order of sources, the device, the method. */
function instrumentComparator(sourcePriority: readonly string[]): LogComparator {
  const preferred = (log: DataLog) => {
    const index = sourcePriority.findIndex((name) => name === log.source || name === log.deviceType)
    return index < 0 ? sourcePriority.length : index
  }
  return (a, b) =>
    levelRank(a.periodicity) - levelRank(b.periodicity) ||
    preferred(a) - preferred(b) ||
    deviceRank(a.deviceType) - deviceRank(b.deviceType) ||
    methodRank(a.recordingMethod) - methodRank(b.recordingMethod)
}

/**
 * Which of two logs counts where both cover the same time: the better instrument, the finer interval, the source's name.
 * Then all the rest of their content, and their ids last, because the same log under another id must change nothing.
 */
export function logComparator(sourcePriority: readonly string[] = []): LogComparator {
  const instruments = instrumentComparator(sourcePriority)
  return (a, b) =>
    instruments(a, b) ||
    a.endMs - a.startMs - (b.endMs - b.startMs) ||
    compareText(a.source, b.source) ||
    a.startMs - b.startMs ||
    compareText(a.dataType, b.dataType) ||
    b.value - a.value ||
    compareRest(a, b) ||
    compareText(a.id, b.id)
}

/** Two logs that agree in kind, time, value and source, by everything else but their ids. */
function compareRest(a: DataLog, b: DataLog): number {
  return (
    a.startOffset - b.startOffset ||
    a.endOffset - b.endOffset ||
    compareText(a.unit, b.unit) ||
    compareText(instrumentOf(a), instrumentOf(b)) ||
    (b.modifiedMs ?? 0) - (a.modifiedMs ?? 0) ||
    Number(a.parentId !== null) - Number(b.parentId !== null)
  )
}

/** The instrument that wrote a log. Logs of two instruments may record the same thing, logs of one do not. */
function instrumentOf(log: DataLog): string {
  return `${log.source}|${log.deviceType}|${log.deviceId ?? ''}|${log.periodicity ?? ''}|${log.recordingMethod}`
}

function isSameInstrument(a: DataLog, b: DataLog): boolean {
  return (
    a.source === b.source &&
    a.deviceType === b.deviceType &&
    a.deviceId === b.deviceId &&
    a.periodicity === b.periodicity &&
    a.recordingMethod === b.recordingMethod
  )
}

/** The logs by the instrument that wrote them, best instrument first. */
export function groupByInstrument(logs: readonly DataLog[], sourcePriority: readonly string[]): DataLog[][] {
  const better = instrumentComparator(sourcePriority)
  const groups = new Map<string, DataLog[]>()
  let ranked: DataLog[] = []
  // Logs of one instrument come in long rows, and to make the key of each would cost more than all the rest.
  for (const [index, log] of logs.entries()) {
    const before = logs[index - 1]
    if (!before || !isSameInstrument(before, log)) {
      const key = instrumentOf(log)
      ranked = groups.get(key) ?? []
      groups.set(key, ranked)
    }
    ranked.push(log)
  }
  return [...groups]
    .sort(([aKey, [a]], [bKey, [b]]) => (a && b ? better(a, b) : 0) || compareText(aKey, bKey))
    .map(([, group]) => group)
}

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
