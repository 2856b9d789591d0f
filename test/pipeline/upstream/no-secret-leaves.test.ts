import { randomBytes, randomUUID } from 'node:crypto'
import { metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Redis } from 'ioredis'
import { expect, onTestFinished } from 'vitest'
import { demographicInputSchema } from '../../../src/base/contract/demographic.ts'
import { operations } from '../../../src/base/contract/operations.ts'
import { createLog } from '../../../src/base/log.ts'
import { openRedisBudgetStore } from '../../../src/pipeline/queue/budget-store-redis.ts'
import { openRateLimiter } from '../../../src/pipeline/upstream/limits/rate-limiter.ts'
import { openWarehousePool, type Pool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test } from '../../support/fixtures.ts'
import { insertPeople } from '../../support/insert-people.ts'
import { json, type ProfileStub, type Seen, startProfileStub } from '../../support/profile-stub.ts'
import { dataLogs, demographics, listByName, scores } from '../../support/stream-by-name.ts'
import { testDivision } from '../../support/test-pool.ts'
import { nightlyCall, openTestUpstream, sleepFor } from '../../support/test-upstream.ts'

const marker = (what: string) => `canary-${what}-${randomUUID()}`

/** Everything an error would show in a log or a table: itself, its causes, its hint, its details. */
function shown(error: unknown, lines: string[]): void {
  createLog({ level: 'info', destination: { write: (line: string) => void lines.push(line) } }).error(
    { err: error },
    'failed',
  )
  for (let at = error; at instanceof Error; at = at.cause) {
    lines.push(String(at), at.stack ?? '', JSON.stringify(at), JSON.stringify({ ...at }))
  }
}

async function everythingIn(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('vitalsync', 'warehouse')`,
  )
  const texts: string[] = []
  for (const { name } of rows) {
    // The places that may know a person's outside name.
    if (name === 'vitalsync.profiles' || name === 'vitalsync.names') continue
    const content = await pool.query<{ row: string }>(`select t::text as row from ${name} t`)
    texts.push(...content.rows.map(({ row }) => row))
  }
  return texts.join('\n')
}

/** Values as they are: a dump of Redis compresses them, and splits a word where a run of literal bytes ends. */
async function everythingInRedis(redis: Redis, prefix: string): Promise<string> {
  const keys = await redis.keys(`${prefix.replace(/[{}]/g, '\\$&')}*`)
  const values = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key)
      if (type === 'none') return '' // expired since
      if (type === 'hash') return JSON.stringify(await redis.hgetall(key))
      return redis.get(key) // fails where the type is another one
    }),
  )
  return [...keys, ...values].join('\n')
}

/** Answers that quote whatever they were sent, as an unfriendly upstream would. */
function echoing(stub: ProfileStub): (seen: Seen) => ReturnType<ProfileStub['answer']> {
  const statuses = [400, 404, 409, 413, 422, 429, 500, 503, 200]
  return (seen) => {
    // Overloaded at first only: the budget would slow the rest of the test down to a crawl.
    const number = stub.seen.length
    const wanted = statuses[number % statuses.length] ?? 400
    const status = number > 25 && (wanted === 429 || wanted === 503) ? 502 : wanted
    const quote = `${seen.authorization} sent ${seen.path} ${decodeURIComponent(seen.path)} and ${seen.body}`
    if (status === 200) return { status, body: `{"${quote}` }
    const errors = [{ origin: `[0].${quote}`, errors: [quote, `value ${seen.body}`] }]
    return json(status, { title: quote, message: quote, errors }, { 'retry-after': '0', 'x-echo': 'x' })
  }
}

test('no secret, no name and no value shows in logs, errors, spans, metrics, Redis or tables', async ({
  warehouseUrl,
  redisUrl,
}) => {
  const spans = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  const measures = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: measures, exportIntervalMillis: 3_600_000 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  const secrets: string[] = []
  const keep = (secret: string) => {
    secrets.push(secret)
    return secret
  }
  const credentials = {
    clientId: keep(marker('client-id')),
    clientSecret: keep(marker('client-secret')),
    appId: keep(marker('app-id')),
    appSecret: keep(marker('app-secret')),
  }
  const profile = { profileId: '1', externalId: keep(marker('external id/é')) }
  const stub = await startProfileStub({ clientSecret: credentials.clientSecret, secretOf: () => keep(marker('token')) })
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 4,
    name: 'canary',
  })
  const redis = new Redis(redisUrl)
  const prefix = `{${randomUUID()}}:budget`
  const limits = { requestsPerSecond: 1000, inFlight: 50 }
  const budget = openRateLimiter({
    store: openRedisBudgetStore({ redis: redis.duplicate(), prefix }),
    limits,
    member: randomUUID(),
    clock: Date.now,
    sleep: sleepFor,
  })
  const tokenStore = createPostgresTokenStore({ pool, keys: [randomBytes(32)] })
  const { upstream, close } = openTestUpstream({ url: stub.url, credentials, tokenStore, rateLimiter: budget })
  onTestFinished(async () => {
    await close()
    await budget.close()
    await pool.end()
    redis.disconnect()
    await stub.close()
    trace.disable()
    metrics.disable()
  })
  stub.profiles.add(profile.externalId)
  stub.answer = echoing(stub)
  await insertPeople(pool, [profile.externalId])
  const value = keep(marker('health-value'))
  const item = { value, note: keep(marker('note')) }
  const lines: string[] = []
  const call = async (work: () => Promise<unknown>) => work().catch((error: unknown) => shown(error, lines))

  for (let round = 0; round < 9; round += 1) {
    await call(() => upstream.read(scores, profile, nightlyCall))
    await call(() => upstream.read(demographics, profile, nightlyCall))
    await call(() => upstream.pushItems(profile, { stream: dataLogs, items: [item] }, nightlyCall))
    await call(() => upstream.pushItems(profile, { stream: listByName('tags'), items: [item] }, nightlyCall))
    await call(() =>
      upstream.pushSnapshot(
        profile,
        { operation: operations.replaceDemographic, schema: demographicInputSchema, body: item },
        nightlyCall,
      ),
    )
    await call(() => upstream.profile(profile.externalId, nightlyCall))
    await call(() => upstream.deleteProfiles([profile.externalId], nightlyCall))
    await call(() => upstream.register({ profileId: '1', externalId: profile.externalId }, nightlyCall))
    await call(() =>
      upstream.api.searchProfiles({ searchParameter: profile.externalId, currentPage: 1, pageSize: 1 }, nightlyCall),
    )
    if (round === 5) stub.revokeAll()
  }
  stub.refuseAll(true)
  await call(() => upstream.read(scores, profile, nightlyCall))
  const inTables = await everythingIn(pool)
  const inRedis = await everythingInRedis(redis, prefix)
  await reader.forceFlush()
  const inSpans = JSON.stringify(
    spans.getFinishedSpans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
  )
  const inMetrics = JSON.stringify(measures.getMetrics())

  // Each place was really written to: an empty one would prove nothing.
  expect(lines.length).toBeGreaterThan(100)
  expect(inTables).toContain('(')
  expect(inRedis).toContain('nightly')
  expect(inSpans).toContain('/api/v1/profile/score/{externalId}')
  for (const name of ['request.duration', 'repeats', 'renewals'])
    expect(inMetrics).toContain(`vitalsync.upstream.${name}`)
  const places = { lines: lines.join('\n'), inTables, inRedis, inSpans, inMetrics }
  for (const [place, text] of Object.entries(places)) {
    for (const secret of secrets) {
      for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex'), secret.slice(-36)]) {
        expect(text.includes(form), `${secret} in ${place}: ${around(text, form)}`).toBe(false)
      }
    }
  }
})

function around(text: string, form: string): string {
  const at = text.indexOf(form)
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100)
}
