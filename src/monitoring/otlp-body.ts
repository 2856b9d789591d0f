import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Registry } from 'prom-client'

/** Bodies of OTLP over HTTP in JSON, as its specification has them: numbers of 64 bits are texts, ids are hexadecimal. */

type Resource = Readonly<Record<string, string>>
type RegistryMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]
type RegistryValue = { value: number; metricName?: string; labels: Readonly<Record<string, unknown>> }

const CUMULATIVE = 2

export function spansBody(spans: readonly ReadableSpan[], resource: Resource): object {
  const byScope = Map.groupBy(spans, ({ instrumentationScope }) => instrumentationScope.name)
  const scopeSpans = [...byScope].map(([name, group]) => ({ scope: { name }, spans: group.map(spanBody) }))
  return { resourceSpans: [{ resource: { attributes: attributesBody(resource) }, scopeSpans }] }
}

function spanBody(span: ReadableSpan): object {
  const { traceId, spanId } = span.spanContext()
  const parentSpanId = span.parentSpanContext?.spanId
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name: span.name,
    kind: span.kind + 1, // the interface counts from 0, the protocol from 1
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: attributesBody(span.attributes),
    ...(span.links.length === 0 ? {} : { links: span.links.map(linkBody) }),
    // The text of a status may quote what a foreign error quotes: only its code is told.
    status: { code: span.status.code },
  }
}

/** A link tells another span by its ids, and nothing else. */
const linkBody = ({ context: { traceId, spanId } }: ReadableSpan['links'][number]) => ({ traceId, spanId })

const nanoseconds = ([seconds, rest]: readonly [number, number]): string => `${seconds}${String(rest).padStart(9, '0')}`

const attributesBody = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: valueBody(value) }]))

function valueBody(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.flatMap((one) => (one == null ? [] : [valueBody(one)])) } }
}

/** `startedAtMs`: since when the counters count. */
export function metricsBody(
  metrics: readonly RegistryMetric[],
  resource: Resource,
  { startedAtMs, nowMs }: { startedAtMs: number; nowMs: number },
): object {
  const times = { startTimeUnixNano: `${Math.floor(startedAtMs)}000000`, timeUnixNano: `${Math.floor(nowMs)}000000` }
  const told = metrics.map((metric) => ({ name: metric.name, description: metric.help, ...pointsBody(metric, times) }))
  const scopeMetrics = [{ scope: { name: 'vitalsync' }, metrics: told }]
  return { resourceMetrics: [{ resource: { attributes: attributesBody(resource) }, scopeMetrics }] }
}

function pointsBody({ type, values }: RegistryMetric, times: object): object {
  const read = values as readonly RegistryValue[] // the library's type leaves out the name that a histogram's values have
  const kind = String(type)
  if (kind === 'histogram')
    return { histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(read, times) } }
  const dataPoints = read.map(({ value, labels }) => ({ ...times, attributes: labelsBody(labels), asDouble: value }))
  if (kind === 'counter') return { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
  return { gauge: { dataPoints } }
}

/** Prometheus counts each bucket with all lower ones, OTLP counts it alone. */
function histogramPoints(values: readonly RegistryValue[], times: object): object[] {
  const keyOf = ({ labels: { le: _, ...others } }: RegistryValue) => JSON.stringify(others)
  return [...Map.groupBy(values, keyOf)].map(([key, series]) => {
    const named = (end: string) => series.filter(({ metricName }) => metricName?.endsWith(end))
    const upTo = named('_bucket').map(({ value }) => value)
    return {
      ...times,
      attributes: labelsBody(JSON.parse(key)),
      count: String(named('_count')[0]?.value ?? 0),
      sum: named('_sum')[0]?.value ?? 0,
      explicitBounds: named('_bucket')
        .map(({ labels }) => Number(labels['le']))
        .filter(Number.isFinite),
      bucketCounts: upTo.map((value, index) => String(value - (upTo[index - 1] ?? 0))),
    }
  })
}

const labelsBody = (labels: Readonly<Record<string, unknown>>) =>
  Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }))
