import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { readConfig } from '../../config/env.ts'
import { createLog } from '../../src/base/log.ts'
import { withSpan } from '../../src/base/monitoring/traced-work.ts'
import { openMonitoring } from '../../src/operations/processes/start-monitoring.ts'
import { startCollector } from '../support/collector.ts'
import { soon } from '../support/fixtures.ts'
import { listKnownMetrics } from '../support/known-metrics.ts'
import { isReadOf } from '../support/peer.ts'
import { json } from '../support/profile-stub.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const canaries = { name: 'canary-name-8f21', value: 0.918273645, note: 'canary-note-77aa' }

/** Everything that the queue stores, as text. */
async function queueText(line: TestPipeline): Promise<string> {
  const { queueUrl = '' } = line.config
  if (queueUrl.startsWith('postgres')) {
    return JSON.stringify(await line.rows('select j::text from bullmq.job j'))
  }
  const redis = new Redis(queueUrl)
  const texts: string[] = []
  for (const key of await redis.keys('*')) {
    const kind = await redis.type(key)
    texts.push(key)
    if (kind === 'hash') texts.push(JSON.stringify(await redis.hgetall(key)))
    if (kind === 'string') texts.push(String(await redis.get(key)))
    if (kind === 'stream') texts.push(JSON.stringify(await redis.xrange(key, '-', '+')))
    if (kind === 'zset') texts.push(JSON.stringify(await redis.zrange(key, 0, '-1')))
  }
  redis.disconnect()
  return texts.join('\n')
}

for (const engine of queueKinds) {
  test(`queue, logs, reasons, metrics and spans name nobody and hold no value, even when things go wrong (${engine})`, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const collector = await startCollector()
    onTestFinished(collector.close)
    const watching = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, METRICS_PORT: '0' }
    const monitoring = await openMonitoring(readConfig(watching), {
      name: 'canary',
      log: createLog({ level: 'silent' }),
    })
    onTestFinished(() => monitoring.close())
    const line = await open(engine, watching)
    const watch = monitoring.watch(line.pipeline)
    const names = [canaries.name, `${canaries.name}-bad`, `${canaries.name}-unknown`]
    const [ada = '', bad = ''] = await line.addProfiles(...names)
    const poison = { ...scoreOf(8, canaries.value), type: `${canaries.note}${'x'.repeat(300)}` }
    peer.give(canaries.name, 'scores', [scoreOf(10, canaries.value, { note: `${canaries.note}\u0000` }), poison])
    peer.profiles.add(`${canaries.name}-bad`)
    await line.pipeline.outbox.add(
      [ada, bad].map((profileId) => ({
        profileId,
        stream: 'data-logs' as const,
        itemKey: canaries.note,
        body: JSON.stringify({ id: canaries.note, value: canaries.value }),
        startAtMs: 0,
        endAtMs: 0,
      })),
    )
    const echo = isReadOf('scores', `${canaries.name}-bad`)
    const before = peer.before
    peer.before = (seen) => {
      if (!echo(seen)) return before(seen)
      const words = [`${canaries.name}-bad has no such thing`, seen.authorization]
      return json(400, { title: 'Bad Request', errors: [{ origin: 'externalId', errors: words }] })
    }
    line.work()

    await withSpan('tick', {}, () => line.tick('sync'))
    const texts: string[] = [await queueText(line)]
    await line.idle()
    const scrape = async () => (await fetch(`${monitoring.url}/metrics`)).text()
    await expect.poll(scrape, soon).toMatch(/vitalsync_refusals\{/)
    texts.push(await scrape())
    await watch.close()
    await monitoring.close()
    texts.push(...collector.texts)
    texts.push(await queueText(line), line.logged())
    for (const table of ['refusals', 'failures', 'runs']) {
      texts.push(JSON.stringify(await line.rows(`select t::text from vitalsync.${table} t`)))
    }
    texts.push(JSON.stringify(await line.rows('select reason from vitalsync.quarantine')))

    expect(await line.rows('select 1 from vitalsync.refusals')).not.toEqual([])
    expect(await line.rows('select 1 from vitalsync.failures')).not.toEqual([])
    expect(await line.rows('select 1 from vitalsync.quarantine')).not.toEqual([])
    const metricNames = [...(collector.metrics.get('canary') ?? [])]
    expect(metricNames).toEqual(expect.arrayContaining(listKnownMetrics().pipeline.map(({ name }) => name)))
    const spans = new Set(collector.spans.map(({ name }) => name.split(' ')[0]))
    expect([...spans]).toEqual(expect.arrayContaining(['tick', 'run', 'addBulk', 'process', 'scoresOf', 'commit']))
    expect(collector.spans.some(({ links = [] }) => links.length > 0)).toBe(true)
    const tokens = peer.seen.map((seen) => seen.authorization.split(' ')[1] ?? '').filter((token) => token !== '')
    const secrets = [canaries.name, String(canaries.value), canaries.note, ...new Set(tokens)]
    for (const secret of secrets) for (const text of texts) expect(text).not.toContain(secret)
  })
}
