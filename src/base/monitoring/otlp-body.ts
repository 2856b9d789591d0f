import type { Attributes, AttributeValue, HrTime, Link } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Registry } from 'prom-client'

/** Bodies of OTLP over HTTP in JSON, as its specification has them: numbers of 64 bits are texts, ids are hexadecimal. */

type Resource = Readonly<Record<string, string>>
type RegistryMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]
type RegistryValue = { value: number; metricName?: string; labels: Readonly<Record<string, unknown>> }

const CUMULATIVE = 2

/**
 * A span as the text of a body, without its events and the message of its status, which may quote a record or a foreign error. Written
 * piece by piece: objects that JSON is made of would cost a busy worker more than the span itself.
 */
export function spanText(span: ReadableSpan): string {
  const { traceId, spanId } = span.spanContext()
  const parent = span.parentSpanContext ? `,"parentSpanId":"${span.parentSpanContext.spanId}"` : ''
  const links = span.links.length === 0 ? '' : `,"links":[${span.links.map(linkText).join(',')}]`
  const times = `"startTimeUnixNano":"${nanoseconds(span.startTime)}","endTimeUnixNano":"${nanoseconds(span.endTime)}"`
  // The interface counts kinds from 0, the protocol from 1.
  const rest = `"kind":${span.kind + 1},${times},"status":{"code":${span.status.code}}`
  const name = JSON.stringify(span.name)
  return `{"traceId":"${traceId}","spanId":"${spanId}"${parent},"name":${name},${rest},"attributes":${attributesText(span.attributes)}${links}}`
}

/** A link holds the ids of another span, and nothing else. */
const linkText = ({ context: { traceId, spanId } }: Link) => `{"traceId":"${traceId}","spanId":"${spanId}"}`

const nanoseconds = ([seconds, nanos]: HrTime): string => `${seconds}${String(nanos).padStart(9, '0')}`

export function attributesText(attributes: Attributes): string {
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
  return `{"arrayValue":{"values":[${value.flatMap((item) => (item == null ? [] : [valueText(item)])).join(',')}]}}`
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
  const bodies = metrics.map((metric) => ({
    name: metric.name,
    description: metric.help,
    ...pointsBody(metric, times),
  }))
  const scopeMetrics = [{ scope: { name: 'vitalsync' }, metrics: bodies }]
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
