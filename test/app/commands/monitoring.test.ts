import { afterAll, beforeAll, expect, test } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import type { Program } from '../../support/run-program.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

const timeout = 300_000
let world: CommandWorld

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 2, days: 3 })
}, timeout)
afterAll(() => world.close(), timeout)

async function startServing(command: 'worker' | 'schedule'): Promise<{ url: string; program: Program }> {
  const program = world.start([command], { METRICS_PORT: '0', LOG_LEVEL: 'info' })
  const [, url = ''] = await program.said(/"url":"(http:[^"]+)","msg":"metrics are served"/)
  return { url, program }
}

const statusOf = async (url: string) => (await fetch(url)).status
const textOf = async (url: string) => (await fetch(url)).text()

test(
  'worker and scheduler serve their metrics and the same facts of the fleet, without a name of a person',
  async () => {
    const [worker, scheduler] = await Promise.all([startServing('worker'), startServing('schedule')])
    for (const { url } of [worker, scheduler]) {
      expect(await statusOf(`${url}/health`)).toBe(200)
      await expect.poll(() => statusOf(`${url}/ready`), soon).toBe(200)
      expect(await statusOf(`${url}/nothing`)).toBe(404)
      expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405)
    }
    await world.json('profiles', 'discover')
    await world.json('sync')
    await expect
      .poll(() => textOf(`${worker.url}/metrics`), soon)
      .toMatch(/vitalsync_jobs_total\{job="sync-profile",lane="manual",outcome="done"\} 2\n/)
    // Slow facts are asked once a minute: the next question is brought forward.
    await world.query('update vitalsync.shared_facts set due_at = clock_timestamp()')

    for (const { url } of [worker, scheduler]) {
      const metrics = () => textOf(`${url}/metrics`)
      await expect.poll(metrics, soon).toContain('vitalsync_profiles{state="active"} 2\n')
      await expect.poll(metrics, soon).toContain('vitalsync_reading_lag_profiles{stream="scores",le="21600"} 2\n')
      await expect.poll(metrics, soon).toContain('vitalsync_workers 1\n')
      await expect.poll(metrics, soon).toContain('vitalsync_queue_jobs{lane="manual",state="waiting"} 0\n')
      await expect.poll(metrics, soon).toContain('vitalsync_slots_overdue{schedule="sweep"} 0\n')
      expect(await metrics()).toContain('vitalsync_unready{reason="work"} 0\n')
      await expect.poll(metrics, soon).toContain('vitalsync_account_token_generation 1\n')
    }
    const text = await textOf(`${worker.url}/metrics`)
    expect(text).toMatch(/vitalsync_upstream_requests_total\{operation="scoresOf",attempt="1",status="200"\} \d+\n/)
    expect(text).toMatch(/vitalsync_rows_total\{stream="biomarkers",change="written"\} [1-9]\d*\n/)
    expect(text).toMatch(/vitalsync_commit_duration_seconds_count [1-9]/)
    expect(text).toMatch(/vitalsync_upstream_request_duration_seconds_count\{operation="scoresOf"\} [1-9]/)
    const names = (await world.query('select external_id from vitalsync.profiles')).map((row) =>
      String(row['external_id']),
    )
    expect(names).toHaveLength(2)
    for (const secret of [...names, String(world.env['UPSTREAM_CLIENT_SECRET'])]) expect(text).not.toContain(secret)

    for (const { program } of [worker, scheduler]) {
      program.kill('SIGTERM')
      expect(await program.ended).toMatchObject({ code: 0 })
    }
  },
  timeout,
)

test(
  'a port that is taken is a fault of usage',
  async () => {
    const { url, program } = await startServing('schedule')
    // A collector that is away must not keep a process that cannot start from ending.
    const taken = { METRICS_PORT: new URL(url).port, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }

    for (const words of [['schedule'], ['worker'], ['service', '--port', '0']])
      expect(await world.start(words, taken).ended, words[0]).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Choose another METRICS_PORT'),
      })
    program.kill('SIGTERM')
    await program.ended
  },
  timeout,
)
