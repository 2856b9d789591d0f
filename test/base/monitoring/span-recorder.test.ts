import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { expect, test, vi } from 'vitest'
import { createTracerProvider, type EndedSpan } from '../../../src/base/monitoring/span-recorder.ts'
import { createSampler } from '../../../src/base/monitoring/start-otlp.ts'

function open() {
  const ended: EndedSpan[] = []
  const provider = createTracerProvider({ isSampled: () => true, take: (span) => void ended.push(span) })
  return { tracer: provider.getTracer('test'), ended }
}

test('a span is sent once, with the attributes set before it ended, and with no event and no message', () => {
  const { tracer, ended } = open()
  const first = tracer.startSpan('first')
  const attributes = { a: 1, b: 'x' }
  const span = tracer.startSpan('one', { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, first))
  span.setAttribute('a', 2).setAttributes({ c: true }).updateName('two')
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'of somebody' }).addLink({ context: first.spanContext() })
  span.addEvent('of somebody').recordException(new Error('of somebody'))

  span.end()
  span.setAttribute('late', 1).updateName('late').end()

  expect(ended).toHaveLength(1)
  expect(ended[0]).toMatchObject({
    ...{ scope: 'test', name: 'two', kind: SpanKind.CLIENT, status: SpanStatusCode.ERROR },
    attributes: { a: 2, b: 'x', c: true },
    parentSpanId: first.spanContext().spanId,
    links: [{ context: first.spanContext() }],
  })
  expect(JSON.stringify(ended)).not.toContain('of somebody')
  expect(JSON.stringify(ended)).not.toContain('late')
  expect(attributes).toEqual({ a: 1, b: 'x' })
  expect(span.isRecording()).toBe(false)
})

test('ids are as the standard has them, and no two are alike', () => {
  const { tracer } = open()
  const contexts = Array.from({ length: 5000 }, () => tracer.startSpan('one').spanContext())
  expect(new Set(contexts.flatMap(({ traceId, spanId }) => [traceId, spanId])).size).toBe(10_000)
  for (const { traceId, spanId } of contexts) {
    expect(traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(spanId).toMatch(/^[0-9a-f]{16}$/)
  }
})

test('times follow a clock that is set, and a span never ends before it begins', () => {
  const { tracer, ended } = open()
  const before = tracer.startSpan('before')
  const clock = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
  try {
    tracer.startSpan('after').end()
    before.end()
  } finally {
    clock.mockRestore()
  }

  const [after, long] = ended
  expect(Math.abs((after?.startMs ?? 0) - 1_000_000)).toBeLessThan(1000)
  expect(long?.endMs).toBeGreaterThanOrEqual(long?.startMs ?? Number.POSITIVE_INFINITY)
})

test('a share of the traces is recorded, and a smaller share is a part of a larger one', () => {
  const traceIds = Array.from({ length: 10_000 }, () => open().tracer.startSpan('one').spanContext().traceId)
  const settings = { endpoint: '', headers: {}, sampler: 'traceidratio' } as const
  const sampledBy = (tracesShare: number) => {
    const isSampled = createSampler({ ...settings, tracesShare })
    return new Set(traceIds.filter((traceId) => isSampled(traceId, undefined)))
  }
  const [small, large] = [sampledBy(0.1), sampledBy(0.5)]

  expect(small.size).toBeGreaterThan(800)
  expect(small.size).toBeLessThan(1200)
  expect(large.size).toBeGreaterThan(4700)
  expect(large.size).toBeLessThan(5300)
  expect([...small].filter((traceId) => !large.has(traceId))).toEqual([])
})
