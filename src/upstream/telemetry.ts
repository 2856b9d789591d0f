import { type Attributes, metrics, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Lane } from '../budget.ts'
import type { Operation } from '../contract/operations.ts'

export type Telemetry = {
  start(operation: Operation): Span
  end(span: Span, ended: { operation: Operation; result: number | string; latencyMs: number }): void
  repeated(operation: Operation): void
  renewed(kind: 'account' | 'profile', outcome: 'obtained' | 'adopted' | 'failed' | 'halted'): void
  odd(stream: string, count: number): void
  waited(operation: Operation, lane: Lane, gate: Promise<void>): Promise<void>
}

/**
 * Spans and metrics of every request, through whatever OpenTelemetry SDK the process has set up; without one they cost
 * next to nothing. Attributes come from closed lists: operation, method, path template, status, lane. Never a path as
 * sent, never a message.
 */
export function createTelemetry(): Telemetry {
  const tracer = trace.getTracer('vitalsync.upstream')
  const meter = metrics.getMeter('vitalsync.upstream')
  const durations = meter.createHistogram('vitalsync.upstream.request.duration', { unit: 's' })
  const repeats = meter.createCounter('vitalsync.upstream.repeats')
  const renewals = meter.createCounter('vitalsync.upstream.renewals')
  const odds = meter.createCounter('vitalsync.upstream.odd_records')
  const waits = meter.createHistogram('vitalsync.upstream.budget.wait', { unit: 's' })
  const attributes = attributesByResult()
  return {
    start: (operation) =>
      tracer.startSpan(operation.name, { kind: SpanKind.CLIENT, attributes: templateOf(operation) }),
    end(span, { operation, result, latencyMs }) {
      const known = attributes(operation, result)
      durations.record(latencyMs / 1000, known)
      if (!span.isRecording()) return span.end()
      span.setAttributes(known)
      if (typeof result === 'string' || result >= 400) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
    repeated: (operation) => repeats.add(1, { operation: operation.name }),
    renewed: (kind, outcome) => renewals.add(1, { kind, outcome }),
    odd: (stream, count) => odds.add(count, { stream }),
    async waited(operation, lane, gate) {
      const sinceMs = performance.now()
      try {
        await gate
      } finally {
        waits.record((performance.now() - sinceMs) / 1000, { operation: operation.name, lane })
      }
    },
  }
}

const templateOf = ({ name, method, path }: Operation): Attributes => ({
  operation: name,
  'http.request.method': method,
  'url.template': path,
})

/** There are some hundred pairs at most; each is made once. */
function attributesByResult(): (operation: Operation, result: number | string) => Attributes {
  const known = new Map<string, Attributes>()
  return ({ name: operation }, result) => {
    const key = `${operation} ${result}`
    const found = known.get(key)
    if (found !== undefined) return found
    const made =
      typeof result === 'number'
        ? { operation, 'http.response.status_code': result }
        : { operation, 'error.type': result }
    known.set(key, made)
    return made
  }
}
