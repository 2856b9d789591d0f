import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

/** Fetched for each span: a tracer keeps the provider of its first use. */
const tracer = () => trace.getTracer('vitalsync')

/**
 * Does the work within a span of this name; without a tracer provider the work alone. Attributes come from closed lists, or are
 * ids of our own. The span records that an error occurred, not which.
 */
export function withSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return tracer().startActiveSpan(name, { attributes }, (span) => endAfter(span, work))
}

/** The span that a piece of work was begun in. Undefined where it is not recorded. */
export type WorkOrigin = SpanContext | undefined

export function currentOrigin(): WorkOrigin {
  const origin = trace.getActiveSpan()?.spanContext()
  return origin && (origin.traceFlags & TraceFlags.SAMPLED) !== 0 ? origin : undefined
}

/** How many of its origins a span links to; the number of all is an attribute. */
const LINKS_MAX = 128

type SharedWork = { readonly attributes: Attributes; readonly origins: readonly WorkOrigin[] }

/**
 * Does work that is shared by many within one span. It belongs to the trace of the first origin and is linked to each. The work
 * alone where no origin is recorded.
 */
export function withSharedSpan<T>(name: string, shared: SharedWork, work: () => Promise<T>): Promise<T> {
  const origins = new Map(shared.origins.flatMap((origin) => (origin ? [[origin.spanId, origin]] : [])))
  const [first] = origins.values()
  if (first === undefined) return work()
  const links = [...origins.values()].slice(0, LINKS_MAX).map((context) => ({ context }))
  const parent = trace.setSpanContext(ROOT_CONTEXT, first)
  return tracer().startActiveSpan(name, { attributes: shared.attributes, links }, parent, (span) =>
    endAfter(span, work),
  )
}

async function endAfter<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

const noHeaders: readonly string[] = []

/**
 * The header `traceparent` by which the other side goes on with the trace; none where the span is not recorded. Written here, for the
 * propagator takes a context and a carrier for each request.
 */
export function traceHeaders(span: Span): readonly string[] {
  if (!span.isRecording()) return noHeaders
  const { traceId, spanId } = span.spanContext()
  return ['traceparent', `00-${traceId}-${spanId}-01`]
}
