import { type Attributes, propagation, type Span, SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('vitalsync')

/**
 * Does the work within a span of this name; without a tracer provider the work alone. Attributes come from closed lists, or are
 * ids of our own. Of an error nothing but that there was one is told.
 */
export function withSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work()
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  })
}

const noHeaders: readonly string[] = []

/** The header `traceparent` by which the other side goes on with the trace; none where the span is not recorded. */
export function traceHeaders(span: Span, active: Parameters<typeof trace.setSpan>[0]): readonly string[] {
  if (!span.isRecording()) return noHeaders
  const carrier: Record<string, string> = {}
  propagation.inject(trace.setSpan(active, span), carrier)
  const { traceparent } = carrier
  return traceparent === undefined ? noHeaders : ['traceparent', traceparent]
}
