import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  type context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api'

type ContextCarrier = Parameters<typeof context.setGlobalContextManager>[0]

/** Carries the active span through promises and timers. */
export function createContextCarrier(): ContextCarrier {
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

const PARENT = 'traceparent'
const STATE = 'tracestate'

/** The two headers by which traces go from process to process, as the W3C's Trace Context has them. */
export function createPropagator(): TextMapPropagator {
  return {
    fields: () => [PARENT, STATE],
    inject(active, carrier, setter) {
      const span = trace.getSpanContext(active)
      if (span === undefined || !isSpanContextValid(span)) return
      const flags = span.traceFlags.toString(16).padStart(2, '0')
      setter.set(carrier, PARENT, `00-${span.traceId}-${span.spanId}-${flags}`)
      const state = span.traceState?.serialize()
      if (state) setter.set(carrier, STATE, state)
    },
    extract(active, carrier, getter) {
      const span = parseTraceParent(onlyText(getter.get(carrier, PARENT)))
      if (span === undefined) return active
      const state = listedText(getter.get(carrier, STATE))
      return trace.setSpanContext(active, state ? { ...span, traceState: createTraceState(state) } : span)
    },
  }
}

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** A later version may say more after what this one says; this version may not. */
function parseTraceParent(text: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = (text && form.exec(text)) || []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(span) ? span : undefined
}

/** A header that occurs twice is ambiguous, so it is ignored. */
const onlyText = (value: unknown): string | undefined => {
  const [only, second] = [value].flat()
  return second === undefined && typeof only === 'string' ? only.trim() : undefined
}

const listedText = (value: unknown): string =>
  [value]
    .flat()
    .filter((header) => typeof header === 'string')
    .join(',')
