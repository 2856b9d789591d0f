import {
  type Attributes,
  createNoopMeter,
  type Meter,
  type Counter as MeterCounter,
  type Histogram as MeterHistogram,
  type MeterProvider,
} from '@opentelemetry/api'
import { Counter, Histogram, type Registry } from 'prom-client'
import { type RecordedMetric, recordedCounters, recordedHistograms } from './recorded-metrics.ts'

/** A metric has at most this many series: later ones are counted under the label value `other`. */
const SERIES_MAX = 1000

/**
 * Gives the program's OpenTelemetry instruments a Prometheus registry to record into. Parts that record know only the
 * interface; without a provider they record nothing, at next to no cost. Every metric is exported from the start, even
 * before anything was recorded.
 */
export function createMeterProvider(registry: Registry): MeterProvider {
  const nothing = createNoopMeter()
  const counters = mapValues(recordedCounters, (recorded) => counterIn(registry, recorded))
  const histograms = mapValues(recordedHistograms, (recorded) => histogramIn(registry, recorded))
  const meter: Meter = Object.assign(Object.create(nothing), {
    createCounter: (name: string): MeterCounter => counters.get(name) ?? nothing.createCounter(name),
    createHistogram: (name: string): MeterHistogram => histograms.get(name) ?? nothing.createHistogram(name),
  })
  return { getMeter: () => meter }
}

const mapValues = <I>(table: Readonly<Record<string, RecordedMetric>>, open: (recorded: RecordedMetric) => I) =>
  new Map(Object.entries(table).map(([name, recorded]) => [name, open(recorded)]))

function counterIn(registry: Registry, recorded: RecordedMetric): MeterCounter {
  const { name, help, labels, initial = [] } = recorded
  const counter = new Counter({ name, help, labelNames: Object.keys(labels), registers: [registry] })
  const seriesOf = createSeriesCache(recorded, (values) => counter.labels(values))
  for (const values of initial) seriesOf(values).inc(0)
  return { add: (value, attributes) => seriesOf(attributes).inc(value) }
}

function histogramIn(registry: Registry, recorded: RecordedMetric): MeterHistogram {
  const { name, help, labels, buckets = [] } = recorded
  const labelNames = Object.keys(labels)
  const histogram = new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [registry] })
  const seriesOf = createSeriesCache(recorded, (values) => histogram.labels(values))
  return { record: (value, attributes) => seriesOf(attributes).observe(value) }
}

/** Finds the series of each set of attributes. Sets that are used again and again are looked up by identity. */
function createSeriesCache<S>({ labels }: RecordedMetric, open: (values: Record<string, string>) => S) {
  const names = Object.keys(labels)
  const series = new Map<string, S>()
  const byAttributes = new WeakMap<Attributes, S>()
  const find = (attributes: Attributes): S => {
    const values = names.map((name) => labelValueOf(labels[name] ?? [], attributes))
    const key = JSON.stringify(values)
    const known = series.get(key)
    if (known !== undefined) return known
    const isFull = series.size >= SERIES_MAX
    const opened = open(
      Object.fromEntries(names.map((name, index) => [name, isFull ? 'other' : (values[index] ?? '')])),
    )
    if (!isFull) series.set(key, opened)
    return opened
  }
  return (attributes: Attributes = {}): S => {
    const known = byAttributes.get(attributes)
    if (known !== undefined) return known
    const found = find(attributes)
    byAttributes.set(attributes, found)
    return found
  }
}

function labelValueOf(sources: readonly string[], attributes: Attributes): string {
  const source = sources.find((name) => attributes[name] !== undefined)
  return source === undefined ? '' : String(attributes[source])
}
