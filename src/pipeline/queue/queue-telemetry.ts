import { type Span as ApiSpan, type Context, context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import type { Telemetry as QueueTelemetry } from 'bullmq'

/** Attributes that BullMQ gives its spans and that go on: names of queues, jobs and numbers. Others may hold a result or a reason. */
const toldAttributes = new Set([
  'bullmq.queue.name',
  'bullmq.queue.operation',
  'bullmq.job.id',
  'bullmq.job.name',
  'bullmq.job.attempts.made',
  'bullmq.job.bulk.count',
])

/** The operations that become spans: a worker that looks for jobs without end would begin traces without end. */
const toldNames = /^(add|addBulk|process)\b/

/** BullMQ's spans as spans of OpenTelemetry: a job continues the trace of the run that ordered it. */
export function createQueueTelemetry(): QueueTelemetry<Context> {
  const tracer = trace.getTracer('vitalsync.queue')
  return {
    tracer: {
      startSpan: (name, options, parent) =>
        !toldNames.test(name)
          ? noSpan
          : spanOf(tracer.startSpan(name, { kind: options?.kind ?? 0 }, parent ?? context.active())),
    },
    contextManager: {
      with: (active, work) => context.with(active, work),
      active: () => context.active(),
      root: () => ROOT_CONTEXT,
      getMetadata(active) {
        const carrier: Record<string, string> = {}
        propagation.inject(active, carrier)
        return JSON.stringify(carrier)
      },
      fromMetadata: (active, metadata) => propagation.extract(active, parseCarrier(metadata)),
    },
  }
}

const noSpan: ReturnType<typeof spanOf> = {
  setSpanOnContext: (active) => active,
  setAttribute: () => undefined,
  setAttributes: () => undefined,
  addEvent: () => undefined,
  recordException: () => undefined,
  end: () => undefined,
}

function spanOf(span: ApiSpan): ReturnType<QueueTelemetry<Context>['tracer']['startSpan']> {
  const setAttribute = (key: string, value: unknown) => {
    if (toldAttributes.has(key) && (typeof value === 'string' || typeof value === 'number'))
      span.setAttribute(key, value)
  }
  return {
    setSpanOnContext: (active) => trace.setSpan(active, span),
    setAttribute,
    setAttributes: (attributes) => {
      for (const [key, value] of Object.entries(attributes)) setAttribute(key, value)
    },
    addEvent: () => undefined,
    // The message of an exception may quote a record. The log of the worker has the safe part.
    recordException: () => void span.setStatus({ code: 2 }),
    end: () => span.end(),
  }
}

function parseCarrier(metadata: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(metadata))
  } catch {
    return {}
  }
}
