import { HOUR, MINUTE } from '../../window.ts'
import type { DaySource } from './day-source.ts'
import type { Measure } from './facts.ts'
import { dayAt } from './local-time.ts'
import type { Log } from './log.ts'
import { sampleRules } from './model.ts'
import { minuteSamples, type Sample } from './samples.ts'
import type { SleepCluster } from './sleep-clusters.ts'
import { clip, holds, type Span, totalMs, union } from './spans.ts'
import { mean, median, quantile, roundTo } from './statistics.ts'

export type VitalsSource = DaySource & { readonly main: SleepCluster | null; readonly awake: readonly Span[] }

type Measures = Record<string, Measure>

/** All vitals of a day: those of sleep from the night that ends on it, the others from the local day itself. */
export function vitalMeasures(source: VitalsSource): Measures {
  const measures: Measures = {}
  const put = (name: string, value: number | null) => {
    if (value !== null) measures[name] = { value: roundTo(value, 3) }
  }
  put('heart_rate_sleep', asleepMean(source, 'heart_rate'))
  put('respiratory_rate_sleep', asleepMean(source, 'respiratory_rate'))
  put('oxygen_saturation_sleep', asleepMean(source, 'oxygen_saturation'))
  put('skin_temperature_sleep', nightly(source, 'sleeping_wrist_temperature'))
  for (const kind of ['heart_rate_variability_sdnn', 'heart_rate_variability_rmssd'])
    put(kind, variability(source, kind))
  put('respiratory_rate', dayMedian(source, 'respiratory_rate', sampleRules.daySamplesMin))
  put('oxygen_saturation', dayMedian(source, 'oxygen_saturation', sampleRules.daySamplesMin))
  put('blood_glucose', dayMedian(source, 'blood_glucose', 1))
  put('blood_pressure_systolic', dayMedian(source, 'blood_pressure_systolic', 1))
  put('blood_pressure_diastolic', dayMedian(source, 'blood_pressure_diastolic', 1))
  put('body_temperature_basal', dayMedian(source, 'basal_body_temperature', 1))
  const resting = restingRate(source)
  return resting ? { ...measures, heart_rate_resting: resting } : measures
}

/** Milligrams a decilitre of glucose in one millimole a litre. */
const glucoseFactor = 18.016

/** One scale for one kind: oxygen in percent, glucose in mmol/L. */
function scaled(log: Log): Log {
  if (log.dataType === 'oxygen_saturation' && log.value <= 1) return { ...log, value: log.value * 100 }
  if (log.dataType === 'blood_glucose' && /mg/i.test(log.unit)) return { ...log, value: log.value / glucoseFactor }
  return log
}

function asleepLogs({ shelf, day, main }: VitalsSource, kind: string): { samples: Log[]; nightly: Log[] } {
  if (!main) return { samples: [], nightly: [] }
  const logs = shelf.around(day, kind).map(scaled)
  const long = (log: Log) => log.endAt - log.startAt >= sampleRules.nightlyHoursMin * HOUR
  return {
    samples: logs.filter((log) => !long(log) && holds(main.asleep, (log.startAt + log.endAt) / 2)),
    nightly: logs.filter((log) => long(log) && totalMs(union([clip(log, main.span)])) * 2 >= log.endAt - log.startAt),
  }
}

/** The mean of the minutes asleep with a reading; or what the device itself says of the night as a whole. */
function asleepMean(source: VitalsSource, kind: string): number | null {
  const { samples, nightly: whole } = asleepLogs(source, kind)
  const own = minuteSamples(samples, source.sourcePriority)
  if (own.length >= sampleRules.sleepSamplesMin) return told(source, samples, mean(own.map(({ value }) => value)))
  return bestOf(source, whole)
}

function nightly(source: VitalsSource, kind: string): number | null {
  const { samples, nightly: whole } = asleepLogs(source, kind)
  const own = minuteSamples(samples, source.sourcePriority)
  return bestOf(source, whole) ?? (own.length > 0 ? told(source, samples, mean(own.map(({ value }) => value))) : null)
}

function variability(source: VitalsSource, kind: string): number | null {
  const { samples, nightly: whole } = asleepLogs(source, kind)
  const own = minuteSamples(samples, source.sourcePriority)
  if (own.length >= sampleRules.daySamplesMin) return told(source, samples, mean(own.map(({ value }) => value)))
  return bestOf(source, whole) ?? dayMedian(source, kind, sampleRules.daySamplesMin)
}

function dayMedian(source: VitalsSource, kind: string, samplesMin: number): number | null {
  const logs = source.shelf.on(source.day, kind).map(scaled)
  const samples = minuteSamples(logs, source.sourcePriority)
  return samples.length >= samplesMin ? told(source, logs, median(samples.map(({ value }) => value))) : null
}

function bestOf(source: VitalsSource, logs: readonly Log[]): number | null {
  const [best] = logs.toSorted(source.better)
  return best ? told(source, [best], best.value) : null
}

function told(source: VitalsSource, logs: readonly Log[], value: number): number {
  for (const log of logs) source.trace?.used(log, log.dataType, log.value)
  return value
}

/** The source's own figure; else the low end of sleep; else the calmest half hour awake, which is a guess. */
function restingRate(source: VitalsSource): Measure | null {
  const own = dayMedian(source, 'resting_heart_rate', 1)
  if (own !== null) return { value: roundTo(own, 3) }
  const { samples } = asleepLogs(source, 'heart_rate')
  const asleep = minuteSamples(samples, source.sourcePriority)
  if (asleep.length >= sampleRules.sleepSamplesMin) {
    return { value: roundTo(told(source, samples, quantile(byFiveMinutes(asleep), 0.05)), 3) }
  }
  const calm = calmest(source)
  return calm === null ? null : { value: roundTo(calm, 3), estimated: true }
}

function byFiveMinutes(samples: readonly Sample[]): number[] {
  const groups = new Map<number, number[]>()
  for (const { at, value } of samples) {
    const key = Math.floor(at / (5 * MINUTE))
    const there = groups.get(key)
    if (there) there.push(value)
    else groups.set(key, [value])
  }
  return [...groups.values()].map(median)
}

function calmest({ shelf, day, awake, sourcePriority }: VitalsSource): number | null {
  const logs = shelf.on(day, 'heart_rate').filter((log) => dayAt(log.startAt, log.startOffset) === day)
  const samples = minuteSamples(logs, sourcePriority).filter(({ at }) => holds(awake, at))
  if (samples.length < sampleRules.sleepSamplesMin) return null
  let lowest: number | null = null
  let [from, sum] = [0, 0]
  for (const [to, { at, value }] of samples.entries()) {
    sum += value
    for (
      let first = samples[from];
      first && first.at <= at - sampleRules.restingWindowMinutes * MINUTE;
      first = samples[from]
    ) {
      sum -= first.value
      from += 1
    }
    const count = to - from + 1
    if (count >= sampleRules.daySamplesMin * 2) lowest = Math.min(lowest ?? Number.POSITIVE_INFINITY, sum / count)
  }
  return lowest
}
