import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { test as base, expect } from 'vitest'
import { operations } from '../../../src/base/contract/operations.ts'
import { createTelemetry, type Telemetry } from '../../../src/pipeline/upstream/telemetry.ts'
import { openTestMeter } from '../../support/test-meter.ts'

type Noted = { telemetry: Telemetry; points: ReturnType<typeof openTestMeter>['points']; spans: InMemorySpanExporter }

/** Telemetry for an SDK of the test's own. */
const test = base.extend<{ noted: Noted }>({
  noted: async ({}, use) => {
    const { points, close } = openTestMeter()
    const spans = new InMemorySpanExporter()
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
    await use({ telemetry: createTelemetry(), points, spans })
    trace.disable()
    await close()
  },
})

test('each request is counted and timed by its operation, its result and its attempt', async ({ noted }) => {
  const { telemetry, points } = noted
  const ends: Array<[number | string, number]> = [
    [200, 1],
    [200, 1],
    [200, 2],
    [503, 1],
    ['lost', 3],
  ]
  for (const [result, attempt] of ends) {
    const request = { operation: operations.scoresOf, result, attempt, latencyMs: 250 }
    telemetry.end(telemetry.start(operations.scoresOf), request)
  }

  const of = { operation: 'scoresOf' }
  expect(await points('vitalsync.upstream.requests')).toEqual([
    [{ ...of, attempt: 1, 'http.response.status_code': 200 }, 2],
    [{ ...of, attempt: 2, 'http.response.status_code': 200 }, 1],
    [{ ...of, attempt: 1, 'http.response.status_code': 503 }, 1],
    [{ ...of, attempt: 3, 'error.type': 'lost' }, 1],
  ])
  const durations = await points('vitalsync.upstream.request.duration')
  expect(durations.map(([, value]) => value)).toMatchObject([{ sum: 0.5, count: 2 }, { sum: 0.25 }, {}, {}])
})

test.for<[number | string, boolean]>([
  [200, false],
  [304, false],
  [399, false],
  [400, true],
  [503, true],
  ['aborted', true],
])('a span whose request ends with %s is an error: %o', async ([result, isError], { noted: { telemetry, spans } }) => {
  telemetry.end(telemetry.start(operations.scoresOf), {
    operation: operations.scoresOf,
    result,
    attempt: 1,
    latencyMs: 1,
  })

  const [span, ...others] = spans.getFinishedSpans()
  expect(others).toEqual([])
  expect(span).toMatchObject({ name: 'scoresOf', kind: 2, status: { code: isError ? 2 : 0 } })
  expect(span?.attributes).toEqual({
    operation: 'scoresOf',
    'http.request.method': 'GET',
    'url.template': '/api/v1/profile/score/{externalId}',
    attempt: 1,
    ...(typeof result === 'number' ? { 'http.response.status_code': result } : { 'error.type': result }),
  })
})

test('repeats, renewals and records that do not fit are counted', async ({ noted: { telemetry, points } }) => {
  telemetry.retried(operations.uploadLogs)
  telemetry.renewed('account', 'obtained')
  telemetry.renewed('profile', 'failed')
  telemetry.invalidRecords('scores', 3)

  expect(await points('vitalsync.upstream.repeats')).toEqual([[{ operation: 'uploadLogs' }, 1]])
  expect(await points('vitalsync.upstream.renewals')).toEqual([
    [{ kind: 'account', outcome: 'obtained' }, 1],
    [{ kind: 'profile', outcome: 'failed' }, 1],
  ])
  expect(await points('vitalsync.upstream.odd_records')).toEqual([[{ stream: 'scores' }, 3]])
})

test('each wait for a permit is timed, also one that ends in an error, which the caller gets', async ({ noted }) => {
  const { telemetry, points } = noted
  await telemetry.waited(operations.scoresOf, 'manual', Promise.resolve())
  await expect(telemetry.waited(operations.scoresOf, 'backfill', Promise.reject(new Error('full')))).rejects.toThrow(
    'full',
  )

  const waits = await points('vitalsync.upstream.budget.wait')
  expect(waits).toMatchObject([
    [{ operation: 'scoresOf', lane: 'manual' }, { count: 1 }],
    [{ operation: 'scoresOf', lane: 'backfill' }, { count: 1 }],
  ])
  for (const [, value] of waits) expect((value as { sum: number }).sum).toBeLessThan(60)
})
