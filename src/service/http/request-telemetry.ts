import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CallerKind } from '../../base/contract/operations.ts'
import type { ServiceApp, ServiceContext } from './context.ts'

/**
 * Counts and logs every request by its operation: never by its address, which holds an externalId, and never with a
 * header, which holds a token.
 */
export function registerMetrics(app: ServiceApp, context: ServiceContext): Registry {
  const { registry, requests, duration } = createServiceMetrics(context)
  app.addHook('onResponse', async (request: FastifyRequest, reply: FastifyReply) => {
    const operation = request.routeOptions.config.operation ?? 'none'
    requests.inc({ operation, status: reply.statusCode })
    duration.observe({ operation }, reply.elapsedTime / 1000)
    if (context.log.isLevelEnabled('debug') || reply.statusCode >= 500) {
      const level = reply.statusCode >= 500 ? 'warn' : 'debug'
      const ms = Math.round(reply.elapsedTime * 10) / 10
      context.log[level]({ requestId: request.id, operation, method: request.method, status: reply.statusCode, ms })
    }
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    const operation = request.routeOptions.config.operation ?? 'none'
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) requests.inc({ operation, status: 'cut' })
    })
    done(null, payload)
  })
  return registry
}

export function createServiceMetrics(measured: MeasuredDeps) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'vitalsync_service_' })
  addGauges(registry, measured)
  return { registry, ...createRequestMetrics(registry) }
}

/** The parts of the service that its gauges look at. */
type MeasuredDeps = {
  readonly pool: Pick<ServiceContext['pool'], 'idleCount' | 'totalCount' | 'waitingCount'>
  readonly derived: Pick<ServiceContext['derived'], 'cacheBytes'>
}

function createRequestMetrics(registry: Registry) {
  const requests = new Counter({
    name: 'vitalsync_service_requests_total',
    help: 'Requests by operation and status; cut: the caller did not read the whole answer',
    labelNames: ['operation', 'status'],
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'vitalsync_service_request_seconds',
    help: 'Time from the first byte of a request to the last byte of its answer',
    labelNames: ['operation'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return { requests, duration }
}

function addGauges(registry: Registry, { pool, derived }: MeasuredDeps): void {
  new Gauge({
    name: 'vitalsync_service_database_connections',
    help: 'Connections of the pool by state; awaited: callers that wait for a connection',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'awaited' }, pool.waitingCount)
    },
  })
  new Gauge({
    name: 'vitalsync_service_kept_answer_bytes',
    help: 'Memory that the cache of answers takes',
    registers: [registry],
    collect() {
      this.set(derived.cacheBytes())
    },
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The kind of caller that the route takes. */
    caller?: CallerKind
    /** Bodies are parsed and worked on within the limit of concurrent uploads. */
    limitsConcurrency?: boolean
  }
}

/**
 * A span for each request that names its operation, method and status: never its address, which holds an externalId. It goes on
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
