import type { Log } from './log.ts'

const deviceOrder: readonly string[] = ['watch', 'fitness_band', 'ring', 'chest_strap', 'phone']

export type Better = (a: Log, b: Log) => number

/** A model such as `Watch6,1` counts as the kind of device its name tells. */
export function deviceRank(deviceType: string): number {
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

function levelRank(periodicity: Log['periodicity']): number {
  if (periodicity === null) return 0
  return periodicity === 'hourly' ? 1 : 2
}

/** Whose instrument is better: raw before aggregated, the account's own order of sources, the device, the method. */
export function compareInstruments(sourcePriority: readonly string[] = []): Better {
  const preferred = (log: Log) => {
    const place = sourcePriority.findIndex((name) => name === log.source || name === log.deviceType)
    return place < 0 ? sourcePriority.length : place
  }
  return (a, b) =>
    levelRank(a.periodicity) - levelRank(b.periodicity) ||
    preferred(a) - preferred(b) ||
    deviceRank(a.deviceType) - deviceRank(b.deviceType) ||
    methodRank(a.recordingMethod) - methodRank(b.recordingMethod)
}

/**
 * Whose word counts where two logs speak of the same time: the better instrument, the finer interval, the source's name.
 * Then what they say, before their ids: so that the same log under another id changes nothing.
 */
export function compareLogs(sourcePriority: readonly string[] = []): Better {
  const instruments = compareInstruments(sourcePriority)
  return (a, b) =>
    instruments(a, b) ||
    a.endAt - a.startAt - (b.endAt - b.startAt) ||
    compareText(a.source, b.source) ||
    a.startAt - b.startAt ||
    compareText(a.dataType, b.dataType) ||
    b.value - a.value ||
    compareText(a.id, b.id)
}

/** By code units: the same on every machine, which `localeCompare` is not. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** One instrument: logs of two of them may speak of the same thing, logs of one do not. */
export function instrumentOf(log: Log): string {
  return `${log.source}|${log.deviceType}|${log.deviceId ?? ''}|${log.periodicity ?? ''}|${log.recordingMethod}`
}

/** The instruments behind some logs, best first, each with its logs. */
export function byInstrument(logs: readonly Log[], sourcePriority: readonly string[] = []): Log[][] {
  const instruments = new Map<string, Log[]>()
  for (const log of logs) {
    const key = instrumentOf(log)
    const there = instruments.get(key)
    if (there) there.push(log)
    else instruments.set(key, [log])
  }
  const better = compareInstruments(sourcePriority)
  return [...instruments]
    .sort(([aKey, [a]], [bKey, [b]]) => (a && b ? better(a, b) : 0) || compareText(aKey, bKey))
    .map(([, there]) => there)
}
