import { hostname } from 'node:os'
import { context, propagation, type SpanContext, TraceFlags, trace } from '@opentelemetry/api'
import type { Log } from '../log.ts'
import { SECOND } from '../time/units.ts'
import { attributesText, metricsText, spanText } from './otlp-body.ts'
import type { OtlpExport, OtlpProcess, OtlpSettings } from './otlp-settings.ts'
import { SpanOutbox } from './span-outbox.ts'
import { createTracerProvider } from './span-recorder.ts'
import { createContextCarrier, createPropagator } from './trace-context.ts'

const TIMEOUT_MS = 10 * SECOND
const SPANS_EVERY_MS = SECOND
const METRICS_EVERY_MS = 30 * SECOND
/** How long a process that stops waits for a collector. */
const CLOSE_MAX_MS = 2 * SECOND

/**
 * Makes this process's spans real and sends them, with its metrics, by OTLP over HTTP. A body that cannot be sent is dropped: no work
 * waits for a collector. Loaded only where an endpoint is set.
 */
export function startOtlp(settings: OtlpSettings, { name, log }: OtlpProcess): OtlpExport {
  const startedAtMs = Date.now()
  const resource = {
    'service.name': settings.serviceName ?? name,
    'service.instance.id': `${hostname()}.${process.pid}`,
  }
  const { send, abort } = createSender(settings, log)
  const outbox = new SpanOutbox({
    resource: attributesText(resource),
    send: (body) => send('traces', body),
    everyMs: SPANS_EVERY_MS,
  })
  trace.setGlobalTracerProvider(
    createTracerProvider({
      isSampled: createSampler(settings),
      take: (span) => outbox.add(span.scope, spanText(span)),
    }),
  )
  context.setGlobalContextManager(createContextCarrier())
  propagation.setGlobalPropagator(createPropagator())
  const exporting: Array<{ close(): Promise<unknown> }> = []
  return {
    exportMetrics(registry) {
      const tell = async () =>
        send('metrics', metricsText(await registry.getMetricsAsJSON(), resource, { startedAtMs, nowMs: Date.now() }))
      const timer = setInterval(() => void tell(), METRICS_EVERY_MS)
      exporting.push({
        close() {
          clearInterval(timer)
          return tell()
        },
      })
    },
    async close() {
      const late = setTimeout(abort, CLOSE_MAX_MS)
      await Promise.all([outbox.flush(), ...exporting.map((exporter) => exporter.close())])
      clearTimeout(late)
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}

type Signal = 'traces' | 'metrics'

/** `send`: false when the collector did not take the body. The first failure after a success is logged. `abort` gives up all bodies under way and to come. */
function createSender({ endpoint, headers }: OtlpSettings, log: Log) {
  const address = endpoint.replace(/\/$/, '')
  const underWay = new Set<AbortController>()
  let isAborted = false
  let wasSent = true
  const post = async (signal: Signal, body: string | Buffer<ArrayBuffer>): Promise<boolean> => {
    if (isAborted) return false
    const attempt = new AbortController()
    const late = setTimeout(() => attempt.abort(), TIMEOUT_MS)
    underWay.add(attempt)
    try {
      const answer = await fetch(`${address}/v1/${signal}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal: attempt.signal,
        redirect: 'error',
      })
      await answer.body?.cancel() // however long it is
      return answer.ok
    } catch {
      return false
    } finally {
      clearTimeout(late)
      underWay.delete(attempt)
    }
  }
  return {
    async send(signal: Signal, body: string | Buffer<ArrayBuffer>): Promise<boolean> {
      const isSent = await post(signal, body)
      if (!isSent && wasSent)
        log.warn({ signal }, 'the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take what it is sent')
      wasSent = isSent
      return isSent
    },
    abort(): void {
      isAborted = true
      for (const attempt of underWay) attempt.abort()
    },
  }
}

/** The random digits of a trace id that decide, and how many values they have: all that a number holds exactly. */
const DECIDING_DIGITS = 13
const VALUES = 16 ** DECIDING_DIGITS

type IsSampled = (traceId: string, parent: SpanContext | undefined) => boolean

/** By the standard's variables: whether a trace is recorded. Processes with the same share choose the same traces. */
export function createSampler({ sampler, tracesShare }: OtlpSettings): IsSampled {
  const share = sampler.endsWith('always_on') ? 1 : sampler.endsWith('always_off') ? 0 : tracesShare
  const atLeast = Math.round((1 - share) * VALUES)
  const byId = (traceId: string) => Number.parseInt(traceId.slice(-DECIDING_DIGITS), 16) >= atLeast
  if (!sampler.startsWith('parentbased_')) return byId
  return (traceId, parent) => (parent ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : byId(traceId))
}
