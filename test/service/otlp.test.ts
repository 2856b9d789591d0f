import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { startOtlp } from '../../src/base/monitoring/start-otlp.ts'
import { startCollector } from '../support/collector.ts'
import { test } from '../support/fixtures.ts'
import { listKnownMetrics } from '../support/known-metrics.ts'
import { startProgram } from '../support/run-program.ts'
import { accountAuth, call, registerProfile, stepsLog, withService } from './service-world.ts'

const everyMetric = listKnownMetrics()
  .service.map(({ name }) => name)
  .toSorted()

test('a service sends every metric of its own to the collector', async ({ serviceUrl, onTestFinished }) => {
  const collector = await startCollector()
  onTestFinished(collector.close)
  const env = { DATABASE_URL: serviceUrl, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const service = startProgram(['service', '--port', '0', '--json'], { cwd: process.cwd(), env })
  const { url } = JSON.parse((await service.said(/^\{"url":.*\}$/m))[0])
  expect((await fetch(`${url}/ready`)).status).toBe(200)

  service.kill('SIGTERM')

  expect(await service.ended).toMatchObject({ code: 0 })
  expect([...(collector.metrics.get('vitalsync-service') ?? [])].toSorted()).toEqual(everyMetric)
  expect(collector.spans.map(({ name }) => name)).toContain('ready')
})

test('no metric and no span of the service holds a person, a token or a value', async ({
  serviceUrl,
  onTestFinished,
}) => {
  const collector = await startCollector()
  onTestFinished(collector.close)
  const sampling = { sampler: 'always_on', tracesShare: 1 } as const
  const settings = { endpoint: collector.url, headers: {}, ...sampling }
  const otlp = startOtlp(settings, { name: 'service', log: createLog({ level: 'silent' }) })
  const canary = () => `canary-${randomUUID()}`
  const [name, unknown, wrong] = [canary(), canary(), canary()]
  const value = 918_273_645
  const secrets: string[] = [name, unknown, wrong, String(value)]

  await withService(serviceUrl, { otlp }, async (world) => {
    const account = await accountAuth(world)
    const person = await registerProfile(world, { account, externalId: name })
    secrets.push(account, person.auth, person.refreshToken, world.clientSecret)
    const uploaded = await call(world, '/api/v1/profile/data/log', {
      method: 'POST',
      auth: person.auth,
      body: [stepsLog({ value }), stepsLog({ unit: unknown })],
    })
    expect(uploaded.status).toBe(400)
    for (const [path, auth] of [
      [`/api/v1/profile/score/${name}?startDateTime=2026-07-01T00:00:00Z&endDateTime=2026-07-12T00:00:00Z`, account],
      [`/api/v1/profile/score/${unknown}`, account],
      [`/api/v1/account/profile/search?search=${name}`, account],
      ['/api/v1/profile/score', `profile ${wrong}`],
      [`/${unknown}`, account],
    ] as const)
      await call(world, path, { auth })
  })
  await otlp.close()

  const sent = collector.texts.join('\n')
  expect([...(collector.metrics.get('service') ?? [])].toSorted()).toEqual(everyMetric)
  expect(collector.spans.map((span) => span.name)).toEqual(
    expect.arrayContaining(['scoresOf', 'uploadLogs', 'searchProfiles']),
  )
  for (const secret of secrets) {
    const [bare = ''] = secret.split(' ').toReversed()
    expect(sent.includes(bare), bare).toBe(false)
  }
})
