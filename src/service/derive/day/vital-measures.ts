import { dayNumberAt } from '../../../base/time/local-time.ts'
import { clip, contains, type Span, totalMs, union } from '../../../base/time/spans.ts'
import { HOUR, MINUTE } from '../../../base/time/units.ts'
import { sampleRules } from '../model/model.ts'
import { mean, median, quantile, roundTo } from '../model/statistics.ts'
import { sleepDaySpan } from './day-bounds.ts'
import type { DayMeasure } from './facts.ts'
import { groupByInstrument, type MinuteSample, minuteSamples } from './log-ranking.ts'
import type { DayInputs } from './logs-by-day.ts'
import type { DataLog } from './parsed-log.ts'
import type { SleepCluster } from './sleep-clusters.ts'

/** `atRest`: awake, and without steps. */
type GivenInputs = DayInputs & { readonly main: SleepCluster | null; readonly atRest: readonly Span[] }
type VitalsInputs = GivenInputs & { readonly asleepPulse: AsleepSamples }

type Measures = Record<string, DayMeasure>

/** All vitals of a day: vitals of sleep come from the night that ends on the day, all others from the local day itself. */
export function vitalMeasures(given: GivenInputs): Measures {
  // The heart rate of the night has two readers, and more samples than all else.
  const inputs = { ...given, asleepPulse: asleepSamples(given, 'heart_rate') }
  const measures: Measures = {}
  const put = (name: string, value: number | null) => {
    if (value !== null) measures[name] = { value: roundTo(value, 3) }
  }
  put('heart_rate_sleep', asleepMean(inputs, inputs.asleepPulse))
  put('respiratory_rate_sleep', asleepMean(inputs, asleepSamples(inputs, 'respiratory_rate')))
  put('oxygen_saturation_sleep', asleepMean(inputs, asleepSamples(inputs, 'oxygen_saturation')))
  put('skin_temperature_sleep', ofNight(inputs, 'sleeping_wrist_temperature'))
  for (const kind of ['heart_rate_variability_sdnn', 'heart_rate_variability_rmssd'])
    put(kind, variability(inputs, kind))
  put('respiratory_rate', dayMedian(inputs, 'respiratory_rate', sampleRules.daySamplesMin))
  put('oxygen_saturation', dayMedian(inputs, 'oxygen_saturation', sampleRules.daySamplesMin))
  put('blood_glucose', dayMedian(inputs, 'blood_glucose', 1))
  put('blood_pressure_systolic', dayMedian(inputs, 'blood_pressure_systolic', 1))
  put('blood_pressure_diastolic', dayMedian(inputs, 'blood_pressure_diastolic', 1))
  put('body_temperature_basal', dayMedian(inputs, 'basal_body_temperature', 1))
  const resting = restingRate(inputs)
  return resting ? { ...measures, heart_rate_resting: resting } : measures
}

/** Milligrams a decilitre of glucose in one millimole a litre. */
const glucoseFactor = 18.016

/** A log in the one unit of its kind: oxygen in percent, glucose in mmol/L. */
function scaled(log: DataLog): DataLog {
  if (log.dataType === 'oxygen_saturation' && log.value <= 1) return { ...log, value: log.value * 100 }
  if (log.dataType === 'blood_glucose' && /mg/i.test(log.unit)) return { ...log, value: log.value / glucoseFactor }
  return log
}

type NightLogs = { readonly samples: DataLog[]; readonly nightly: DataLog[] }

/** Logs of single minutes asleep, and logs that are the figure of a device for the whole night. */
function asleepLogs(inputs: GivenInputs, kind: string): NightLogs {
  const { logsByDay, day, main } = inputs
  if (!main) return { samples: [], nightly: [] }
  // Beyond the night and its sleep day no log counts, and the days around it have four times as many.
  const sleepDay = sleepDaySpan(day, main.offset)
  const hull = {
    startMs: Math.min(sleepDay.startMs, main.span.startMs),
    endMs: Math.max(sleepDay.endMs, main.span.endMs + sampleRules.afterSleepMinutesMax * MINUTE + 1),
  }
  const logs = logsByDay
    .around(day, kind)
    .filter((log) => log.startMs <= hull.endMs && log.endMs >= hull.startMs)
    .map(scaled)
  const long = (log: DataLog) => log.endMs - log.startMs >= sampleRules.nightlyHoursMin * HOUR
  return {
    samples: logs.filter((log) => !long(log) && contains(main.asleep, (log.startMs + log.endMs) / 2)),
    nightly: [
      ...logs.filter((log) => long(log) && totalMs(union([clip(log, main.span)])) * 2 >= log.endMs - log.startMs),
      ...writtenOnce(inputs, { logs: logs.filter((log) => !long(log)), main }),
    ],
  }
}

/**
 * The only reading of an instrument between 18:00 and 18:00 stands for the night when it lies in the sleep or up to an
 * hour after it: rings and straps write one figure a night. A heart rate alone is a moment's, and an entry by hand too.
 */
function writtenOnce(
  { day, sourcePriority }: GivenInputs,
  { logs, main }: { logs: readonly DataLog[]; main: SleepCluster },
): DataLog[] {
  const middle = (log: DataLog) => (log.startMs + log.endMs) / 2
  const sleepDay = [sleepDaySpan(day, main.offset)]
  const night = [{ ...main.span, endMs: main.span.endMs + sampleRules.afterSleepMinutesMax * MINUTE + 1 }]
  return groupByInstrument(
    logs.filter((log) => contains(sleepDay, middle(log))),
    sourcePriority,
  )
    .filter((readings) => readings.length === 1)
    .flat()
    .filter(
      (log) => contains(night, middle(log)) && log.dataType !== 'heart_rate' && log.recordingMethod !== 'manual_entry',
    )
}

type AsleepSamples = NightLogs & { readonly perMinute: readonly MinuteSample[] }

function asleepSamples(inputs: GivenInputs, kind: string): AsleepSamples {
  const logs = asleepLogs(inputs, kind)
  return { ...logs, perMinute: minuteSamples(logs.samples, inputs.sourcePriority) }
}

/** The mean over the minutes asleep that have a sample, else the figure of the device for the whole night. */
function asleepMean(inputs: VitalsInputs, { samples, nightly, perMinute }: AsleepSamples): number | null {
  if (perMinute.length >= sampleRules.sleepSamplesMin)
    return markUsed(inputs, samples, mean(perMinute.map(({ value }) => value)))
  return bestOf(inputs, nightly)
}

function ofNight(inputs: VitalsInputs, kind: string): number | null {
  const { samples, nightly, perMinute } = asleepSamples(inputs, kind)
  return (
    bestOf(inputs, nightly) ??
    (perMinute.length > 0 ? markUsed(inputs, samples, mean(perMinute.map(({ value }) => value))) : null)
  )
}

function variability(inputs: VitalsInputs, kind: string): number | null {
  const { samples, nightly, perMinute } = asleepSamples(inputs, kind)
  if (perMinute.length >= sampleRules.daySamplesMin)
    return markUsed(inputs, samples, mean(perMinute.map(({ value }) => value)))
  return bestOf(inputs, nightly) ?? dayMedian(inputs, kind, sampleRules.daySamplesMin)
}

function dayMedian(inputs: VitalsInputs, kind: string, samplesMin: number): number | null {
  const logs = inputs.logsByDay.on(inputs.day, kind).map(scaled)
  const samples = minuteSamples(logs, inputs.sourcePriority)
  return samples.length >= samplesMin ? markUsed(inputs, logs, median(samples.map(({ value }) => value))) : null
}

function bestOf(inputs: VitalsInputs, logs: readonly DataLog[]): number | null {
  const [best] = logs.toSorted(inputs.compareLogs)
  return best ? markUsed(inputs, [best], best.value) : null
}

function markUsed(inputs: VitalsInputs, logs: readonly DataLog[], value: number): number {
  for (const log of logs) inputs.lineage?.used(log, log.dataType, log.value)
  return value
}

/** The figure of the inputs, else the low end of the heart rate asleep, else the calmest half hour awake, as a guess. */
function restingRate(inputs: VitalsInputs): DayMeasure | null {
  const resting = dayMedian(inputs, 'resting_heart_rate', 1)
  if (resting !== null) return { value: roundTo(resting, 3) }
  const { samples, perMinute: asleep } = inputs.asleepPulse
  if (asleep.length >= sampleRules.sleepSamplesMin) {
    return { value: roundTo(markUsed(inputs, samples, quantile(byFiveMinutes(asleep), 0.05)), 3) }
  }
  const calm = calmestHalfHour(inputs)
  return calm === null ? null : { value: roundTo(calm, 3), estimated: true }
}

function byFiveMinutes(samples: readonly MinuteSample[]): number[] {
  const groups = Map.groupBy(samples, ({ atMs }) => Math.floor(atMs / (5 * MINUTE)))
  return [...groups.values()].map((group) => median(group.map(({ value }) => value)))
}

/** The lowest mean heart rate at rest over half an hour: a sliding window over the samples. */
function calmestHalfHour({ logsByDay, day, atRest, sourcePriority }: VitalsInputs): number | null {
  const logs = logsByDay.on(day, 'heart_rate').filter((log) => dayNumberAt(log.startMs, log.startOffset) === day)
  const samples = minuteSamples(logs, sourcePriority).filter(({ atMs }) => contains(atRest, atMs))
  if (samples.length < sampleRules.sleepSamplesMin) return null
  const windowMs = sampleRules.restingWindowMinutes * MINUTE
  let lowest: number | null = null
  let [from, sum] = [0, 0]
  for (const [to, { atMs, value }] of samples.entries()) {
    sum += value
    for (let first = samples[from]; first && first.atMs <= atMs - windowMs; first = samples[from]) {
      sum -= first.value
      from += 1
    }
    const count = to - from + 1
    if (count >= sampleRules.daySamplesMin * 2) lowest = Math.min(lowest ?? Number.POSITIVE_INFINITY, sum / count)
  }
  return lowest
}
