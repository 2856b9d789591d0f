import { randomFillSync } from 'node:crypto'
import {
  type Attributes,
  type AttributeValue,
  type Context,
  context as contexts,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** Everything that is sent of a span. It is read while the span ends, and not kept. */
export type EndedSpan = {
  readonly scope: string
  readonly name: string
  readonly kind: SpanKind
  readonly context: SpanContext
  readonly parentSpanId: string | undefined
  readonly startMs: number
  readonly endMs: number
  readonly status: SpanStatusCode
  readonly attributes: Attributes
  readonly links: readonly Link[]
}

type Recording = {
  /** Whether a trace is recorded, by its id and by the span that it goes on from. */
  readonly isSampled: (traceId: string, parent: SpanContext | undefined) => boolean
  readonly take: (span: EndedSpan) => void
}

/**
 * Makes the spans of the OpenTelemetry interface. As little as can be is kept of them: a busy worker ends thousands in a second, and
 * what outlives the moment costs the garbage collector more than it cost to make.
 */
export function createTracerProvider(recording: Recording): TracerProvider {
  return { getTracer: (scope) => tracerOf(scope, recording) }
}

function tracerOf(scope: string, { isSampled, take }: Recording): Tracer {
  const startSpan = (name: string, options: SpanOptions = {}, within: Context = contexts.active()): Span => {
    const parent = options.root ? undefined : trace.getSpanContext(within)
    const traceId = parent?.traceId ?? randomHex(32)
    const spanId = randomHex(16)
    const traceState = parent?.traceState
    const contextWith = (traceFlags: number) => ({ traceId, spanId, traceFlags, ...(traceState && { traceState }) })
    if (!isSampled(traceId, parent)) return trace.wrapSpanContext(contextWith(TraceFlags.NONE))
    return new RecordedSpan({ scope, name, options, context: contextWith(TraceFlags.SAMPLED), parent, take })
  }
  function startActiveSpan<T>(name: string, ...rest: ActiveSpanWords<T>): T {
    const work = rest.at(-1) as (span: Span) => T
    const [options, within = contexts.active()] = rest.slice(0, -1) as [SpanOptions?, Context?]
    const span = startSpan(name, options, within)
    return contexts.with(trace.setSpan(within, span), work, undefined, span)
  }
  return { startSpan, startActiveSpan: startActiveSpan as Tracer['startActiveSpan'] }
}

type ActiveSpanWords<T> =
  | [(span: Span) => T]
  | [SpanOptions, (span: Span) => T]
  | [SpanOptions, Context, (span: Span) => T]

type Begun = {
  readonly scope: string
  readonly name: string
  readonly options: SpanOptions
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
  readonly take: Recording['take']
}

class RecordedSpan implements Span {
  private readonly begun: Begun
  private readonly startMs = wallClock()
  private readonly startedAt = performance.now()
  private readonly attributes: Attributes
  private links: Link[]
  private name: string
  private status = SpanStatusCode.UNSET
  private hasEnded = false

  constructor(begun: Begun) {
    this.begun = begun
    this.name = begun.name
    this.attributes = { ...begun.options.attributes }
    this.links = begun.options.links ?? []
  }

  spanContext(): SpanContext {
    return this.begun.context
  }

  setAttribute(key: string, value: AttributeValue): this {
    if (!this.hasEnded) this.attributes[key] = value
    return this
  }

  setAttributes(attributes: Attributes): this {
    if (!this.hasEnded) Object.assign(this.attributes, attributes)
    return this
  }

  addLink(link: Link): this {
    return this.addLinks([link])
  }

  addLinks(links: Link[]): this {
    if (!this.hasEnded) this.links = [...this.links, ...links]
    return this
  }

  setStatus({ code }: SpanStatus): this {
    if (!this.hasEnded) this.status = code
    return this
  }

  updateName(name: string): this {
    if (!this.hasEnded) this.name = name
    return this
  }

  addEvent(): this {
    return this
  }

  recordException(): void {
    // As with events, nothing is recorded: the message of an error may quote a record.
  }

  isRecording(): boolean {
    return !this.hasEnded
  }

  end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    const { scope, options, context, parent, take } = this.begun
    take({
      scope,
      name: this.name,
      kind: options.kind ?? SpanKind.INTERNAL,
      context,
      parentSpanId: parent?.spanId,
      startMs: this.startMs,
      endMs: this.startMs + performance.now() - this.startedAt,
      status: this.status,
      attributes: this.attributes,
      links: this.links,
    })
  }
}

const DRIFT_MAX_MS = 20
let wallOffsetMs = Date.now() - performance.now()

/** The time of day with fractions of a millisecond, also after the clock was set or the machine slept. */
function wallClock(): number {
  const sinceStartMs = performance.now()
  const offsetMs = Date.now() - sinceStartMs
  if (Math.abs(offsetMs - wallOffsetMs) > DRIFT_MAX_MS) wallOffsetMs = offsetMs
  return sinceStartMs + wallOffsetMs
}

const pool = Buffer.alloc(4096)
let poolText = ''
let poolAt = 0

/** Random hexadecimal digits, which are made for many ids at once. */
function randomHex(digits: number): string {
  if (poolAt + digits > poolText.length) {
    poolText = randomFillSync(pool).toString('hex')
    poolAt = 0
  }
  poolAt += digits
  return poolText.slice(poolAt - digits, poolAt)
}
