import { defaultTextMapGetter, defaultTextMapSetter, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { expect, test } from 'vitest'
import { createPropagator } from '../../../src/base/monitoring/trace-context.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const parents: Array<string | undefined> = [
  ...['00', '01', 'cc', 'ff', 'FF', '0'].map((version) => `${version}-${traceId}-${spanId}-01`),
  ...['00', '01', '03', '1', 'zz', ''].map((flags) => `00-${traceId}-${spanId}-${flags}`),
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `02-${traceId}-${spanId}-01-more`,
  `02-${traceId}-${spanId}-01more`,
  ` 00-${traceId}-${spanId}-01 `,
  `00-${traceId}-${spanId}`,
  '',
  undefined,
]
const states = [undefined, 'a=1', 'a=1,b=2', ',', 'no state', `a=${'x'.repeat(600)}`]
const cases = parents.flatMap((traceparent) => states.map((tracestate) => ({ traceparent, tracestate })))

/** The span that is read, and the headers for the next process. */
function passedOn(propagator: ReturnType<typeof createPropagator>, carrier: Record<string, unknown>) {
  const read = propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter)
  const written: Record<string, string> = {}
  propagator.inject(read, written, defaultTextMapSetter)
  return { span: trace.getSpanContext(read), written }
}

test('a trace is read and passed on as the SDK of OpenTelemetry does it', () => {
  const [ours, theirs] = [createPropagator(), new W3CTraceContextPropagator()]
  for (const headers of cases) {
    const expected = passedOn(theirs, headers)
    const { span, written } = passedOn(ours, headers)
    if (expected.written['tracestate'] === '') delete expected.written['tracestate'] // says as much as none
    expect({ headers, written }).toEqual({ headers, written: expected.written })
    expect(span?.isRemote).toBe(expected.span?.isRemote)
  }
  expect(cases.filter((headers) => passedOn(ours, headers).span !== undefined).length).toBeGreaterThan(40)
})

test('flags of later versions are passed on as they came', () => {
  const traceparent = `00-${traceId}-${spanId}-ff`
  expect(passedOn(createPropagator(), { traceparent }).written).toEqual({ traceparent })
})

test('of a header that is there twice none is taken', () => {
  const twice = { traceparent: [`00-${traceId}-${spanId}-01`, `00-${traceId}-${'1'.repeat(16)}-01`] }
  expect(passedOn(createPropagator(), twice).span).toBeUndefined()
})
