import { hostname } from 'node:os'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base'
import type { Registry } from 'prom-client'
import type { Log } from '../log.ts'
import { SECOND } from '../time/units.ts'
import { attributesText, metricsText, spanText } from './otlp-body.ts'

/** From the standard variables `OTEL_*`. */
export type OtlpSettings = {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** By the standard's name. `parentbased_…`: a trace that another process began is recorded if that process does. */
  readonly sampler: `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`
  /** The share of traces that the samplers by ratio record. */
  readonly tracesShare: number
  /** Absent: the name that the process gives itself. */
  readonly serviceName?: string | undefined
}

export type OtlpProcess = { readonly name: string; readonly log: Log }

export type OtlpExport = ReturnType<typeof startOtlp>

const TIMEOUT_MS = 10 * SECOND
const SPANS_EVERY_MS = SECOND
const METRICS_EVERY_MS = 30 * SECOND
/** How long a process that stops waits for a collector. */
const CLOSE_MAX_MS = 2 * SECOND

/**
 * Makes this process's spans real and sends them, with its metrics, by OTLP over HTTP. A body that cannot be sent is dropped: no work
 * waits for a collector. Loaded only where an endpoint is set.
 */
export function startOtlp(settings: OtlpSettings, { name, log }: OtlpProcess) {
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
  const take = (span: ReadableSpan) => outbox.add(span.instrumentationScope.name, spanText(span))
  trace.setGlobalTracerProvider(createTracerProvider(settings, take))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const exporting: Array<{ close(): Promise<unknown> }> = []
  return {
    exportMetrics(registry: Registry) {
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
    /** Sends what waits. */
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

/**
 * The SDK's spans, each taken in the moment in which it ends. A busy worker ends thousands in a second: as objects that wait for the next
 * body they would reach the old part of the heap, which costs the garbage collector more than it cost to make them.
 */
function createTracerProvider(settings: OtlpSettings, take: (span: ReadableSpan) => void): BasicTracerProvider {
  const nothing = async () => undefined
  return new BasicTracerProvider({
    sampler: createSampler(settings),
    spanProcessors: [{ onStart: () => undefined, onEnd: take, forceFlush: nothing, shutdown: nothing }],
  })
}

/** By the standard's variables. Processes with the same share choose the same traces. */
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

/** A body of this size is sent without waiting for more. */
const BODY_BYTES = 256 * 1024
/** How many bodies wait for a slow or silent collector; later spans are dropped. */
const BODIES_MAX = 32
/** A character of a text takes up to this many bytes. */
const CHARACTER_BYTES = 3
const BEGIN = Buffer.from('{"resourceSpans":[{"resource":{"attributes":')
const END = Buffer.from(']}]}]}')

type SpanOutboxParts = {
  /** The attributes of the resource, as text. */
  readonly resource: string
  readonly send: (body: Buffer<ArrayBuffer>) => Promise<unknown>
  /** How long a span waits at most before it is sent. */
  readonly everyMs: number
}

/**
 * Spans that have ended, as the bytes of OTLP bodies: as objects they would live long enough to reach the old part of the heap. One
 * body is under way at a time.
 */
export class SpanOutbox {
  private readonly parts: SpanOutboxParts
  private readonly head: Buffer
  private readonly bodies: Buffer<ArrayBuffer>[] = []
  private readonly timer: NodeJS.Timeout
  private open = Buffer.allocUnsafe(BODY_BYTES)
  private used = 0
  private scope: string | undefined
  private sending: Promise<void> = Promise.resolve()
  private isSending = false

  constructor(parts: SpanOutboxParts) {
    this.parts = parts
    this.head = Buffer.concat([BEGIN, Buffer.from(`${parts.resource}},"scopeSpans":[`)])
    this.timer = setInterval(() => this.closeBody(), parts.everyMs).unref()
  }

  /** `span`: its text. Spans of one scope that end one after another share the scope's name. */
  add(scope: string, span: string): void {
    let text = this.following(scope, span)
    if (this.used + text.length * CHARACTER_BYTES > this.open.length) {
      this.closeBody()
      text = this.following(scope, span)
      const bytes = text.length * CHARACTER_BYTES
      if (bytes > this.open.length) this.open = Buffer.allocUnsafe(bytes)
    }
    this.used += this.open.write(text, this.used)
    this.scope = scope
  }

  /** Sends what waits. */
  async flush(): Promise<void> {
    clearInterval(this.timer)
    this.closeBody()
    await this.sending
  }

  private following(scope: string, span: string): string {
    if (scope === this.scope) return `,${span}`
    return `${this.scope === undefined ? '' : ']},'}{"scope":{"name":${JSON.stringify(scope)}},"spans":[${span}`
  }

  private closeBody(): void {
    if (this.used === 0) return
    if (this.bodies.length < BODIES_MAX) {
      this.bodies.push(Buffer.concat([this.head, this.open.subarray(0, this.used), END]))
      if (!this.isSending) this.sending = this.sendAll()
    }
    this.used = 0
    this.scope = undefined
  }

  private async sendAll(): Promise<void> {
    this.isSending = true
    for (let body = this.bodies.shift(); body !== undefined; body = this.bodies.shift()) await this.parts.send(body)
    this.isSending = false
  }
}
