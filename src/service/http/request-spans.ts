import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyRequest } from 'fastify'
import type { ServiceApp } from './context.ts'

/**
 * A span for each request that tells its operation, method and status: never its address, which holds an externalId. It goes on
 * with the caller's trace, where the request has a `traceparent`.
 */
export function registerRequestSpans(app: ServiceApp): void {
  const tracer = trace.getTracer('vitalsync.service')
  const spans = new WeakMap<FastifyRequest, Span>()
  app.addHook('onRequest', (request, _reply, done) => {
    const parent = propagation.extract(ROOT_CONTEXT, request.headers)
    const operation = request.routeOptions.config.operation ?? 'none'
    const attributes = { operation, 'http.request.method': request.method }
    const span = tracer.startSpan(operation, { kind: SpanKind.SERVER, attributes }, parent)
    if (!span.isRecording()) return done()
    spans.set(request, span)
    context.with(trace.setSpan(parent, span), done)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const span = spans.get(request)
    span?.setAttribute('http.response.status_code', reply.statusCode)
    if (reply.statusCode >= 500) span?.setStatus({ code: SpanStatusCode.ERROR })
    span?.end()
    done()
  })
}
