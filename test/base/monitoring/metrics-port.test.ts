import { Gauge, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { openMetricsPort } from '../../../src/base/monitoring/metrics-port.ts'

const CLIENTS = 50

test('fifty clients at once get the whole text, for which the metrics are collected once', async ({
  onTestFinished,
}) => {
  const registry = new Registry()
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let collected = 0
  new Gauge({
    name: 'depth',
    help: 'of the test',
    registers: [registry],
    async collect() {
      collected += 1
      this.set(collected)
      asked.resolve()
      await gate.promise
    },
  })
  const port = await openMetricsPort({ registry, host: '127.0.0.1', port: 0, unready: () => [] })
  onTestFinished(() => port.close())
  const scrape = async () => (await fetch(`${port.url}/metrics`)).text()

  const texts = Array.from({ length: CLIENTS }, scrape)
  await asked.promise
  // Connections that are accepted later are answered later: the fifty have been heard.
  for (let time = 0; time < CLIENTS; time++) expect((await fetch(`${port.url}/health`)).status).toBe(200)
  gate.resolve()

  const whole = /^# HELP depth of the test\n# TYPE depth gauge\ndepth \d+\n$/
  for (const text of await Promise.all(texts)) expect(text).toMatch(whole)
  expect(collected).toBeLessThan(CLIENTS / 5)
  const before = collected
  expect(await scrape()).toContain(`depth ${before + 1}\n`)
})
