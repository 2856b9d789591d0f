import { request } from 'node:http'
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

const statusFor = (url: string, host: string) =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host } }, ({ statusCode }) => resolve(statusCode))
      .on('error', reject)
      .end()
  })

test('on loopback only names of this machine are answered, beyond it every name', async ({ onTestFinished }) => {
  const registry = new Registry()
  const local = await openMetricsPort({ registry, host: '127.0.0.1', port: 0, unready: () => [] })
  const open = await openMetricsPort({ registry, host: '0.0.0.0', port: 0 })
  onTestFinished(() => [local, open].forEach(({ close }) => void close()))

  for (const path of ['/metrics', '/health', '/ready']) {
    for (const host of ['127.0.0.1:9464', 'localhost', '[::1]'])
      expect([path, host, await statusFor(local.url + path, host)]).toEqual([path, host, 200])
    for (const host of ['attacker.example', 'localhost.attacker.example', 'localhost.', '0.0.0.0'])
      expect([path, host, await statusFor(local.url + path, host)]).toEqual([path, host, 403])
  }
  expect(await statusFor(`${open.url.replace('0.0.0.0', '127.0.0.1')}/metrics`, 'metrics.example')).toBe(200)
})
