import type { Attributes, AttributeValue } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Registry } from 'prom-client'

/** Bodies of OTLP over HTTP in JSON, as its specification has them: numbers of 64 bits are texts, ids are hexadecimal. */

type Resource = Readonly<Record<string, string>>
type RegistryMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]
type RegistryValue = { value: number; metricName?: string; labels: Readonly<Record<string, unknown>> }

const CUMULATIVE = 2

/**
 * The spans as the text of a body. Written piece by piece: objects that JSON is made of would cost a busy worker more than the spans
 * themselves.
 */
export function spansText(spans: readonly ReadableSpan[], resource: Resource): string {
  const byScope = Map.groupBy(spans, ({ instrumentationScope }) => instrumentationScope.name)
  const scopes = [...byScope].map(
    ([name, group]) => `{"scope":{"name":${JSON.stringify(name)}},"spans":[${group.map(spanText).join(',')}]}`,
  )
  return `{"resourceSpans":[{"resource":{"attributes":${attributesText(resource)}},"scopeSpans":[${scopes.join(',')}]}]}`
}

function spanText(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext()
  const parentSpanId = span.parentSpanContext?.spanId
  const parent = parentSpanId === undefined ? '' : `,"parentSpanId":"${parentSpanId}"`
  const links = span.links.length === 0 ? '' : `,"links":[${span.links.map(linkText).join(',')}]`
  const times = `"startTimeUnixNano":"${nanoseconds(span.startTime)}","endTimeUnixNano":"${nanoseconds(span.endTime)}"`
  // The interface counts kinds from 0, the protocol from 1. The text of a status may quote what a foreign error quotes: only its code is told.
  const rest = `"kind":${span.kind + 1},${times},"status":{"code":${span.status.code}}`
  const name = JSON.stringify(span.name)
  return `{"traceId":"${traceId}","spanId":"${spanId}"${parent},"name":${name},${rest},"attributes":${attributesText(span.attributes)}${links}}`
}

/** A link tells another span by its ids, and nothing else. */
const linkText = ({ context: { traceId, spanId } }: ReadableSpan['links'][number]) =>
  `{"traceId":"${traceId}","spanId":"${spanId}"}`

const nanoseconds = ([seconds, rest]: readonly [number, number]): string => `${seconds}${String(rest).padStart(9, '0')}`

function attributesText(attributes: Attributes): string {
  let text = ''
  for (const key in attributes) {
    const value = attributes[key]
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}{"key":${JSON.stringify(key)},"value":${valueText(value)}}`
  }
  return `[${text}]`
}

function valueText(value: AttributeValue): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`
  if (typeof value === 'boolean') return `{"boolValue":${value}}`
  if (typeof value === 'number') return numberText(value)
  return `{"arrayValue":{"values":[${value.flatMap((one) => (one == null ? [] : [valueText(one)])).join(',')}]}}`
}

function numberText(value: number): string {
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"doubleValue":"${value}"}`
}

/** `startedAtMs`: since when the counters count. */
export function metricsText(
  metrics: readonly RegistryMetric[],
  resource: Resource,
  { startedAtMs, nowMs }: { startedAtMs: number; nowMs: number },
): string {
  const times = { startTimeUnixNano: `${Math.floor(startedAtMs)}000000`, timeUnixNano: `${Math.floor(nowMs)}000000` }
  const told = metrics.map((metric) => ({ name: metric.name, description: metric.help, ...pointsBody(metric, times) }))
  const scopeMetrics = [{ scope: { name: 'vitalsync' }, metrics: told }]
  return JSON.stringify({ resourceMetrics: [{ resource: { attributes: labelsBody(resource) }, scopeMetrics }] })
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
