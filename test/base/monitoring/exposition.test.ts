import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { exposeMetrics } from '../../../src/base/monitoring/exposition.ts'

function registryWithEverything(): Registry {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: 'jobs_total', help: 'Jobs', labelNames: ['lane'], registers }).inc({ lane: 'manual' }, 2)
  new Gauge({ name: 'depth_total', help: 'A gauge keeps its name', registers }).set(3)
  new Histogram({ name: 'took_seconds', help: 'Time', buckets: [1], registers }).observe(0.5)
  return registry
}

const prometheusAccept =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

test.for([
  [prometheusAccept, 'application/openmetrics-text; version=1.0.0; charset=utf-8'],
  ['application/openmetrics-text; q=0.2, text/plain; q=0.5', 'text/plain; version=0.0.4; charset=utf-8'],
  ['application/openmetrics-text;q=0', 'text/plain; version=0.0.4; charset=utf-8'],
  ['*/*', 'text/plain; version=0.0.4; charset=utf-8'],
  [undefined, 'text/plain; version=0.0.4; charset=utf-8'],
] as const)('%s is answered in %s', async ([accept, contentType]) => {
  expect(await exposeMetrics(registryWithEverything(), accept)).toMatchObject({ contentType })
})

test('OpenMetrics names a family of counters without its suffix, has no empty line, and ends', async () => {
  const { text } = await exposeMetrics(registryWithEverything(), prometheusAccept)

  expect(text).toContain('# HELP jobs Jobs\n# TYPE jobs counter\njobs_total{lane="manual"} 2\n')
  expect(text).toContain('# TYPE depth_total gauge\ndepth_total 3\n')
  expect(text).toContain('took_seconds_bucket{le="+Inf"} 1\n')
  expect(text).not.toContain('\n\n')
  expect(text.endsWith('\n# EOF\n')).toBe(true)
})

test('one format leaves the names of the other as they are', async () => {
  const registry = registryWithEverything()
  await exposeMetrics(registry, prometheusAccept)

  const { text } = await exposeMetrics(registry, 'text/plain')

  expect(text).toContain('# TYPE jobs_total counter\njobs_total{lane="manual"} 2\n')
  expect(text).not.toContain('# EOF')
})
