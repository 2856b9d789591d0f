import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { Counter, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { type OtlpSettings, startOtlp } from '../../../src/base/monitoring/start-otlp.ts'
import { withSpan } from '../../../src/base/monitoring/traced-work.ts'
import { startCollector } from '../../support/collector.ts'

/** More spans than may wait. */
const MANY = 20_000
/** The program waits two seconds for a collector; a request that nobody answers would take ten. */
const QUICKLY_MS = 8000

function startSending(endpoint: string, settings: Partial<OtlpSettings> = {}) {
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } })
  const sampling = { sampler: 'parentbased_traceidratio', tracesShare: 1 } as const
  const otlp = startOtlp({ endpoint, headers: {}, ...sampling, ...settings }, { name: 'test', log })
  const registry = new Registry()
  new Counter({ name: 'asked_total', help: 'of the test', registers: [registry] }).inc()
  otlp.exportMetrics(registry)
  return { otlp, lines }
}

async function work(times: number): Promise<void> {
  for (let time = 0; time < times; time++) await withSpan('work', {}, async () => undefined)
}

const faults: Record<string, (response: ServerResponse) => void> = {
  'is silent': () => undefined,
  'answers 500': (response) => void response.writeHead(500).end('no'),
  'answers four megabytes': (response) => void response.end(Buffer.alloc(4_000_000, 'x')),
  'begins an answer and never ends it': (response) => void response.writeHead(200).write('{'),
  'breaks off': (response) => void response.destroy(),
  'sends elsewhere': (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
}

for (const [fault, answer] of Object.entries(faults))
  test(`work goes on and a stop is quick beside a collector that ${fault}`, async ({ onTestFinished }) => {
    const collector = await startCollector(answer)
    onTestFinished(collector.close)
    const { otlp, lines } = startSending(collector.url)

    await work(MANY)
    await expect.poll(() => collector.texts.length).toBeGreaterThan(0)
    const stoppedAtMs = performance.now()
    await otlp.close()

    expect(performance.now() - stoppedAtMs).toBeLessThan(QUICKLY_MS)
    expect(lines.length, lines.join('')).toBeLessThan(3)
  })

test('a collector that goes away and comes back gets the spans of then', async ({ onTestFinished }) => {
  const first = await startCollector()
  const { otlp, lines } = startSending(first.url)
  await work(1)
  await expect.poll(() => first.spans.length).toBe(1)
  first.close()
  await once(first.server, 'close')
  await work(1)
  await expect.poll(() => lines.length).toBe(1)
  const second = await startCollector(undefined, Number(new URL(first.url).port))
  onTestFinished(second.close)

  await work(1)

  await expect.poll(() => second.spans.length).toBe(1)
  await otlp.close()
  expect(second.metrics.get('test')).toEqual(new Set(['asked_total']))
})

test('names and attributes of every kind arrive as they were', async ({ onTestFinished }) => {
  const collector = await startCollector()
  onTestFinished(collector.close)
  const { otlp } = startSending(collector.url)
  const odd = 'a "quoted"\n\\ \u2028 name, ü and \ud83d\ude00'

  await withSpan(
    odd,
    { [odd]: odd, flag: true, whole: 3, part: 0.5, huge: 1e21, none: Number.NaN, list: ['a', 'b'] },
    async () => withSpan('inner', {}, async () => undefined),
  )
  await otlp.close()

  const [inner, outer] = collector.spans
  expect(outer?.name).toBe(odd)
  expect(inner).toMatchObject({ traceId: outer?.traceId, parentSpanId: outer?.spanId, attributes: [] })
  expect(Object.fromEntries((outer?.attributes ?? []).map(({ key, value }) => [key, value]))).toEqual({
    [odd]: { stringValue: odd },
    flag: { boolValue: true },
    whole: { intValue: '3' },
    part: { doubleValue: 0.5 },
    huge: { doubleValue: 1e21 },
    none: { doubleValue: 'NaN' },
    list: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
  })
})

test('of an error neither event nor message is sent, and a span that has ended does not change', async ({
  onTestFinished,
}) => {
  const collector = await startCollector()
  onTestFinished(collector.close)
  const { otlp } = startSending(collector.url)
  const [linked, span] = ['linked', 'work'].map((name) => trace.getTracer('test').startSpan(name))
  span?.addEvent('of somebody').recordException(new Error('of somebody'))
  span?.setStatus({ code: SpanStatusCode.ERROR, message: 'of somebody' })
  if (linked) span?.addLink({ context: linked.spanContext(), attributes: { name: 'of somebody' } })

  span?.end()
  span?.setAttribute('late', 1).updateName('late').end()
  await otlp.close()

  expect(collector.spans).toMatchObject([{ name: 'work', status: { code: SpanStatusCode.ERROR } }])
  expect(collector.spans[0]?.links).toEqual([
    { traceId: linked?.spanContext().traceId, spanId: linked?.spanContext().spanId },
  ])
  expect(collector.texts.join()).not.toMatch(/of somebody|late/)
})

const callerTrace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', isRemote: true }
const within = (traceFlags: number, work: () => Promise<void>) =>
  context.with(trace.setSpanContext(context.active(), { ...callerTrace, traceFlags }), work)

/** The names of the spans that are sent, of work without a parent and within the traces of two callers. */
async function sampledBy(settings: Partial<OtlpSettings>): Promise<string[]> {
  const collector = await startCollector()
  const { otlp } = startSending(collector.url, settings)
  await withSpan('own', {}, async () => undefined)
  for (const [name, flags] of [
    ['recorded', 1],
    ['left out', 0],
  ] as const)
    await within(flags, () => withSpan(name, {}, async () => undefined))
  await otlp.close()
  collector.close()
  return collector.spans.map((span) => span.name)
}

test('the sampler is the one that the standard’s variables name', async () => {
  expect(await sampledBy({})).toEqual(['own', 'recorded'])
  expect(await sampledBy({ tracesShare: 0 })).toEqual(['recorded'])
  expect(await sampledBy({ sampler: 'always_on', tracesShare: 0 })).toEqual(['own', 'recorded', 'left out'])
  expect(await sampledBy({ sampler: 'always_off' })).toEqual([])
  expect(await sampledBy({ sampler: 'traceidratio' })).toEqual(['own', 'recorded', 'left out'])
  expect(await sampledBy({ sampler: 'traceidratio', tracesShare: 0 })).toEqual([])
  expect(await sampledBy({ sampler: 'parentbased_always_on', tracesShare: 0 })).toEqual(['own', 'recorded'])
  expect(await sampledBy({ sampler: 'parentbased_always_off' })).toEqual(['recorded'])
})
