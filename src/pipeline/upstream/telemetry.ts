import { type Attributes, metrics, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Operation } from '../../base/contract/operations.ts'
import { traceHeaders } from '../../base/monitoring/traced-work.ts'
import { SECOND } from '../../base/time/units.ts'
import type { Lane } from '../fleet/budget.ts'

export type Telemetry = ReturnType<typeof createTelemetry>

/** `attempt`: 1 for the first time that the call is sent. */
type EndedRequest = { operation: Operation; result: number | string; attempt: number; latencyMs: number }

/**
 * Spans and metrics of every request, for the OpenTelemetry SDK of the process; without an SDK they cost next to nothing.
 * Attributes come from closed lists: operation, method, path template, status, lane. The path as sent and the text of
 * messages are never attributes.
 */
export function createTelemetry() {
  const tracer = trace.getTracer('vitalsync.upstream')
  const meter = metrics.getMeter('vitalsync.upstream')
  const requests = meter.createCounter('vitalsync.upstream.requests')
  const durations = meter.createHistogram('vitalsync.upstream.request.duration', { unit: 's' })
  const retries = meter.createCounter('vitalsync.upstream.repeats')
  const renewals = meter.createCounter('vitalsync.upstream.renewals')
  const invalidRecords = meter.createCounter('vitalsync.upstream.odd_records')
  const waits = meter.createHistogram('vitalsync.upstream.budget.wait', { unit: 's' })
  const attributes = createAttributeCache()
  return {
    start: (operation: Operation) =>
      tracer.startSpan(operation.name, { kind: SpanKind.CLIENT, attributes: spanAttributesOf(operation) }),
    /** The header by which upstream continues the trace. */
    headers: traceHeaders,
    end(span: Span, { operation, result, attempt, latencyMs }: EndedRequest) {
      const shared = attributes({ operation, result, attempt })
      requests.add(1, shared)
      durations.record(latencyMs / SECOND, shared)
      if (!span.isRecording()) return span.end()
      span.setAttributes(shared)
      if (typeof result === 'string' || result >= 400) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
    retried: (operation: Operation) => retries.add(1, { operation: operation.name }),
    renewed: (kind: 'account' | 'profile', outcome: 'obtained' | 'adopted' | 'failed' | 'halted') =>
      renewals.add(1, { kind, outcome }),
    invalidRecords: (stream: string, count: number) => invalidRecords.add(count, { stream }),
    async waited(operation: Operation, lane: Lane, permit: Promise<void>) {
      const sinceMs = performance.now()
      try {
        await permit
      } finally {
        waits.record((performance.now() - sinceMs) / SECOND, { operation: operation.name, lane })
      }
    },
  }
}

const spanAttributesOf = ({ name, method, path }: Operation): Attributes => ({
  operation: name,
  'http.request.method': method,
  'url.template': path,
})

/** Makes each set of attributes once. There are some hundred of them at most. */
function createAttributeCache(): (request: Omit<EndedRequest, 'latencyMs'>) => Attributes {
  const cache = new Map<string, Attributes>()
  return ({ operation: { name: operation }, result, attempt }) => {
    const key = `${operation} ${result} ${attempt}`
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const made =
      typeof result === 'number'
        ? { operation, attempt, 'http.response.status_code': result }
        : { operation, attempt, 'error.type': result }
    cache.set(key, made)
    return made
  }
}
