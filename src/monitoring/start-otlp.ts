import { AsyncLocalStorage } from 'node:async_hooks'
import { hostname } from 'node:os'
import { type Context, context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log.ts'
import { SECOND } from '../time/units.ts'
import { metricsText, spansText } from './otlp-body.ts'
import type { OtlpExport, OtlpProcess, OtlpSettings } from './otlp-settings.ts'

const TIMEOUT_MS = 10 * SECOND
const SPANS_EVERY_MS = SECOND
const METRICS_EVERY_MS = 30 * SECOND
/** How long a process that stops waits for a collector. */
const CLOSE_MAX_MS = 2 * SECOND
/** Spans that wait to be sent; more are dropped. */
const SPANS_MAX = 8192
const SPANS_PER_REQUEST = 512

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
  const exporter: SpanExporter = {
    export: (spans, done) =>
      void send('traces', spansText(spans, resource)).then((isSent) =>
        done({ code: isSent ? ExportResultCode.SUCCESS : ExportResultCode.FAILED }),
      ),
    shutdown: async () => undefined,
  }
  const processor = new BatchSpanProcessor(exporter, {
    maxQueueSize: SPANS_MAX,
    maxExportBatchSize: SPANS_PER_REQUEST,
    scheduledDelayMillis: SPANS_EVERY_MS,
    exportTimeoutMillis: TIMEOUT_MS,
  })
  const provider = new BasicTracerProvider({ spanProcessors: [processor], sampler: createSampler(settings) })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(createContextCarrier())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
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
      await Promise.all([provider.shutdown().catch(() => undefined), ...exporting.map((one) => one.close())])
      clearTimeout(late)
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}

function createSampler({ sampler, tracesShare }: OtlpSettings): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(tracesShare)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

type Signal = 'traces' | 'metrics'

/** `send`: false when the collector did not take the body. The first failure after a success is logged. `abort` gives up all bodies under way and to come. */
function createSender({ endpoint, headers }: OtlpSettings, log: Log) {
  const address = endpoint.replace(/\/$/, '')
  const underWay = new Set<AbortController>()
  let isAborted = false
  let wasSent = true
  const post = async (signal: Signal, body: string): Promise<boolean> => {
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
    async send(signal: Signal, body: string): Promise<boolean> {
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

type ContextCarrier = Parameters<typeof context.setGlobalContextManager>[0]

/** Carries the active span through promises and timers. */
function createContextCarrier(): ContextCarrier {
  const storage = new AsyncLocalStorage<Context>()
  const carrier: ContextCarrier = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, thisArg, ...words) => storage.run(active, () => work.call(thisArg, ...words)),
    bind: (bound, target) =>
      typeof target === 'function'
        ? (AsyncLocalStorage.bind(() => storage.run(bound, target as () => unknown)) as typeof target)
        : target,
    enable: () => carrier,
    disable: () => {
      storage.disable()
      return carrier
    },
  }
  return carrier
}
