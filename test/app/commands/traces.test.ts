import { test as base, expect } from 'vitest'
import { type ReceivedSpan, startCollector } from '../../support/collector.ts'
import { template, within } from '../../support/fixtures.ts'
import { listKnownMetrics } from '../../support/known-metrics.ts'
import { type Program, settingsFor, startProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

const test = base.extend<{ warehouse: string; service: string }>({
  warehouse: async ({}, use) => within(await template('warehouse'), use),
  service: async ({}, use) => within(await template('service'), use),
})

/** The names on the way from the root of a trace to a span. */
function pathTo(span: ReceivedSpan, spans: readonly ReceivedSpan[]): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId)
  return [...(parent ? pathTo(parent, spans) : []), span.name]
}

test('one trace goes from the tick to the job, the request, the service and the commit, and names nobody', async ({
  warehouse,
  service,
  onTestFinished,
}) => {
  const collector = await startCollector()
  const programs: Program[] = []
  onTestFinished(async () => {
    for (const program of programs) program.kill('SIGKILL')
    await Promise.all(programs.map(({ ended }) => ended))
    collector.close()
  })
  const shared = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-secret',
    LOG_LEVEL: 'debug',
  }
  const start = (words: string[], env: Record<string, string>) => {
    const program = startProgram(words, { cwd: process.cwd(), env: { ...shared, ...env } })
    programs.push(program)
    return program
  }
  const sandbox = start(['sandbox', '--host', '127.0.0.1', '--port', '0', '--profiles', '1', '--days', '2', '--json'], {
    DATABASE_URL: service,
  })
  const { url, clientId, clientSecret } = JSON.parse((await sandbox.said(/^\{"url":.*"clientId".*\}$/m))[0])
  const env = {
    DATABASE_URL: warehouse,
    UPSTREAM_URL: url,
    UPSTREAM_CLIENT_ID: clientId,
    UPSTREAM_CLIENT_SECRET: clientSecret,
    TOKEN_KEY: Buffer.alloc(32, 9).toString('base64'),
    SECOND_READING_SECONDS: '0',
    SENTINEL_SHARE: '0',
    HISTORY_DAYS: '2',
  }
  expect(await start(['profiles', 'discover'], env).ended).toMatchObject({ code: 0 })
  const pool = openTestPool(warehouse)
  onTestFinished(() => pool.end())
  // The scheduler makes up a nightly that was missed, at its start.
  await pool.query(
    "insert into vitalsync.slots (schedule, slot_at) values ('nightly', clock_timestamp() - interval '2 days')",
  )
  const [worker, scheduler] = [start(['worker'], env), start(['schedule'], env)]
  const runs = async () =>
    (await pool.query("select 1 from vitalsync.runs where kind = 'nightly' and state = 'done'")).rowCount
  await expect.poll(runs, { timeout: 120_000, interval: 100 }).toBe(1)

  for (const program of [scheduler, worker, sandbox]) {
    program.kill('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 0 })
  }
  const { spans } = collector
  // A sweep may tick at the same time: its trace is another one.
  const nightly = spans.find(({ name }) => name === 'run nightly')
  const trace = spans.filter(({ traceId }) => traceId === nightly?.traceId)
  const processes = (name: string) => new Set(trace.filter((span) => span.name === name).map((span) => span.process))
  expect(processes('run nightly')).toEqual(new Set(['vitalsync-schedule']))
  expect(processes('process vitalsync-nightly')).toEqual(new Set(['vitalsync-worker']))
  expect(processes('commit')).toEqual(new Set(['vitalsync-worker']))
  expect(processes('scoresOf')).toEqual(new Set(['vitalsync-worker', 'vitalsync-sandbox']))
  const served = trace.find(({ name, process }) => name === 'scoresOf' && process === 'vitalsync-sandbox')
  const committed = trace.find(({ name }) => name === 'commit')
  const job = ['tick', 'run nightly', 'addBulk vitalsync-nightly', 'process vitalsync-nightly']
  expect(served && pathTo(served, trace)).toEqual([...job, 'scoresOf', 'scoresOf'])
  expect(committed && pathTo(committed, trace)).toEqual([...job, 'commit'])
  expect(worker.stderr()).toContain(`"trace":"${nightly?.traceId}"`)
  // One span for each transaction, linked to the jobs whose readings it stores.
  const jobs = new Set(spans.filter(({ name }) => name.startsWith('process ')).map(({ spanId }) => spanId))
  for (const { links } of spans.filter(({ name }) => name === 'commit'))
    expect(links?.map(({ spanId }) => jobs.has(spanId))).toEqual(links?.map(() => true))
  expect(committed?.links).toContainEqual({ traceId: nightly?.traceId, spanId: committed?.parentSpanId })
  const { pipeline: ofPipeline, service: ofService } = listKnownMetrics()
  const told = (process: string) => [...(collector.metrics.get(process) ?? [])].toSorted()
  for (const process of ['vitalsync-worker', 'vitalsync-schedule'])
    expect(told(process)).toEqual(ofPipeline.map(({ name }) => name).toSorted())
  expect(told('vitalsync-sandbox')).toEqual(ofService.map(({ name }) => name).toSorted())
  expect(new Set(collector.headers)).toEqual(new Set(['Bearer collector-secret']))

  const { rows } = await pool.query<{ secret: string }>(`
    select external_id as secret from vitalsync.profiles union all
    (select distinct value from vitalsync.biomarkers where length(value) > 5 limit 50)`)
  expect(rows.length).toBeGreaterThan(3)
  const written = collector.texts.join('\n') + worker.stderr() + scheduler.stderr()
  for (const secret of [clientSecret, ...rows.map((row) => row.secret)])
    expect(written.includes(secret), secret).toBe(false)
  expect(spans.flatMap(({ attributes }) => attributes.map(({ key }) => key)).filter((key) => !known.has(key))).toEqual(
    [],
  )
}, 300_000)

const known = new Set([
  ...['operation', 'attempt', 'http.request.method', 'http.response.status_code', 'error.type', 'url.template'],
  ...['schedule', 'vitalsync.run.id', 'vitalsync.run.kind', 'vitalsync.commit.readings', 'vitalsync.commit.rows'],
  ...['bullmq.queue.name', 'bullmq.queue.operation', 'bullmq.job.id', 'bullmq.job.name', 'bullmq.job.bulk.count'],
  'bullmq.job.attempts.made',
])

test('without an endpoint nothing that records spans is loaded', async ({ warehouse }) => {
  const watch = `
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      if (/monitoring\\/start-otlp|@opentelemetry\\/sdk/.test(url)) process.stderr.write('LOADED ' + url)
      return next(url, context)
    } })`
  const env = {
    ...settingsFor(warehouse),
    LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(watch)}`,
  }
  const worker = startProgram(['worker'], { cwd: process.cwd(), env })
  await worker.said(/worker is ready/)
  worker.kill('SIGTERM')

  const { stderr } = await worker.ended

  expect(stderr).not.toContain('LOADED')
}, 300_000)
