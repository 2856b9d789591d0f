import { Registry } from 'prom-client'
import { createMeterProvider } from '../../src/base/monitoring/meter-provider.ts'
import { addFleetGauges } from '../../src/operations/processes/fleet-gauges.ts'
import { addProcessGauges } from '../../src/operations/processes/process-gauges.ts'
import { createServiceMetrics } from '../../src/service/http/request-telemetry.ts'

export type KnownMetric = {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly help: string
}

/** Every metric that our processes serve, from their registries. */
export function listKnownMetrics(): { pipeline: KnownMetric[]; service: KnownMetric[] } {
  const registry = new Registry()
  const nothing = () => undefined
  addProcessGauges(registry, { pipeline: nothing, watch: nothing, unready: () => [], dataFolder: '/' })
  addFleetGauges(registry, nothing)
  createMeterProvider(registry)
  const pool = { idleCount: 0, totalCount: 0, waitingCount: 0 }
  const service = createServiceMetrics({ pool, derived: { cacheBytes: () => 0 } })
  return { pipeline: metricsOf(registry), service: metricsOf(service.registry) }
}

/** The type says less than the objects hold: names of labels are a field of every metric. */
const metricsOf = (registry: Registry): KnownMetric[] =>
  registry
    .getMetricsAsArray()
    .map((metric) => {
      const { labelNames = [] } = metric as { labelNames?: readonly string[] }
      return { name: metric.name, type: String(metric.type), labels: labelNames, help: metric.help }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))

/** The metrics that an expression names and that no process serves. */
export function unknownMetricsIn(expression: string): string[] {
  const { pipeline, service } = listKnownMetrics()
  const names = new Set([...pipeline, ...service].flatMap(({ name, type }) => seriesNamesOf(name, type)))
  const named = [...expression.matchAll(/\bvitalsync_\w+/g)].map(([name]) => name)
  return named.filter((name) => !names.has(name))
}

const seriesNamesOf = (name: string, type: string) =>
  type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name]
