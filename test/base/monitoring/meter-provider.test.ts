import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMeterProvider } from '../../../src/base/monitoring/meter-provider.ts'

test('measurements become series of the listed labels, and other attributes are dropped', async () => {
  const registry = new Registry()
  const meter = createMeterProvider(registry).getMeter('any')
  const requests = meter.createCounter('vitalsync.upstream.requests')
  requests.add(1, { operation: 'scoresOf', 'http.response.status_code': 200, attempt: 1, 'url.path': '/ada' })
  requests.add(1, { operation: 'scoresOf', 'error.type': 'lost', attempt: 2 })
  meter.createHistogram('vitalsync.job.duration').record(0.2, { job: 'sync-profile', profile: '7' })
  meter.createCounter('vitalsync.unheard.of').add(1, { name: 'ada' })

  const text = await registry.metrics()

  expect(text).toContain('vitalsync_upstream_requests_total{operation="scoresOf",attempt="1",status="200"} 1')
  expect(text).toContain('vitalsync_upstream_requests_total{operation="scoresOf",attempt="2",status="lost"} 1')
  expect(text).toContain('vitalsync_job_duration_seconds_bucket{le="0.25",job="sync-profile"} 1')
  expect(text).not.toMatch(/ada|profile="7"|unheard/)
})

test('a metric has a thousand series at most, and counts the rest together', async () => {
  const registry = new Registry()
  const jobs = createMeterProvider(registry).getMeter('any').createCounter('vitalsync.jobs')
  for (let number = 0; number < 1200; number += 1)
    jobs.add(1, { job: `job-${number}`, lane: 'manual', outcome: 'done' })

  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('vitalsync_jobs_total{'))

  expect(lines).toHaveLength(1001)
  expect(lines.at(-1)).toBe('vitalsync_jobs_total{job="other",lane="other",outcome="other"} 200')
})
