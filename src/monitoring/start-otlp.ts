import { AsyncLocalStorage } from 'node:async_hooks'
import { hostname } from 'node:os'
import { type Context, context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { Log } from '../log.ts'
import { SECOND } from '../time/units.ts'
import { metricsBody, spansBody } from './otlp-body.ts'
import type { OtlpExport, OtlpProcess, OtlpSettings } from './otlp-settings.ts'

const TIMEOUT_MS = 10 * SECOND
const SPANS_EVERY_MS = SECOND
const METRICS_EVERY_MS = 30 * SECOND
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
  const send = createSend(settings, log)
  const exporter: SpanExporter = {
    export: (spans, done) =>
      void send('traces', spansBody(spans, resource)).then((isSent) =>
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
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.tracesShare) })
  const provider = new BasicTracerProvider({ spanProcessors: [processor], sampler })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(createContextCarrier())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const exporting: Array<{ close(): Promise<unknown> }> = []
  return {
    exportMetrics(registry) {
      const tell = async () =>
        send('metrics', metricsBody(await registry.getMetricsAsJSON(), resource, { startedAtMs, nowMs: Date.now() }))
      const timer = setInterval(() => void tell(), METRICS_EVERY_MS)
      exporting.push({
        close() {
          clearInterval(timer)
          return tell()
        },
      })
    },
    async close() {
      await Promise.all(exporting.map((one) => one.close()))
      await provider.shutdown().catch(() => undefined)
      trace.disable()
      context.disable()
      propagation.disable()
    },
  }
}

/** Sends one body; false when the collector did not take it. The first failure after a success is logged. */
function createSend({ endpoint, headers }: OtlpSettings, log: Log) {
  let wasSent = true
  return async (signal: 'traces' | 'metrics', body: object): Promise<boolean> => {
    const isSent = await fetch(`${endpoint.replace(/\/$/, '')}/v1/${signal}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    }).then(
      async (answer) => {
        await answer.body?.cancel()
        return answer.ok
      },
      () => false,
    )
    if (!isSent && wasSent)
      log.warn({ signal }, 'the collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take what it is sent')
    wasSent = isSent
    return isSent
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
