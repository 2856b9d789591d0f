import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'

type Point = { attributes: object; value: unknown }

/** The metrics of this process, until it is closed: the points of each by its name, as pairs of attributes and value. */
export function openTestMeter() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  metrics.setGlobalMeterProvider(provider)
  return {
    async points(name: string): Promise<Array<[object, unknown]>> {
      await provider.forceFlush()
      const scopes = exporter.getMetrics().at(-1)?.scopeMetrics ?? []
      const found = scopes.flatMap((scope) => scope.metrics).find(({ descriptor }) => descriptor.name === name)
      return ((found?.dataPoints ?? []) as Point[]).map(({ attributes, value }) => [attributes, value])
    },
    async close(): Promise<void> {
      metrics.disable()
      await provider.shutdown()
    },
  }
}
