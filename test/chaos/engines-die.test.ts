import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { migrate } from '../../src/engines/migrate.ts'
import { startPostgres } from '../../src/engines/postgres.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf } from '../support/peer.ts'
import { openLine, redisOfOurOwn, test } from '../support/pipeline.ts'
import { freePort } from '../support/ports.ts'
import { scoreOf } from '../support/records.ts'
import { startWorkerProcess } from './workers.ts'

const noRedis = 'no Redis: none given, no Docker engine, no redis-server on the PATH'
const people = Array.from({ length: 30 }, (_, index) => `person-${index}`)
const stored = `select count(*)::int as rows, count(distinct profile_id)::int as people, max(revision) as revision from vitalsync.scores`
const whole = [{ rows: 60, people: 30, revision: 1 }]

async function startRedis(folder: string, port: number) {
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
  const child = spawn('redis-server', words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const gone = once(child, 'exit')
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.stdout.on('data', (chunk) => String(chunk).includes('Ready to accept connections') && resolve())
  })
  return {
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

test('a Redis that is killed in mid-run and comes back costs nothing', async ({
  warehouseUrl,
  peer,
  skip,
  onTestFinished,
}) => {
  if (inject('redisUrl') === '') skip(noRedis)
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-chaos-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const first = await startRedis(folder, port).catch(() => undefined)
  if (!first) return skip('no redis-server on the PATH')
  const queueUrl = `redis://127.0.0.1:${port}`
  const line = await openLine({ warehouseUrl, queueUrl, upstream: peer, settings: { CONCURRENCY: '2' } })
  onTestFinished(() => line.close())
  await line.people(...people)
  for (const name of people) peer.give(name, 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.2)])
  const held = peer.hold(isReadOf('scores', 'person-9'))
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())
  await line.tick('sync', { streams: ['scores'] })
  await held.reached

  await first.kill()
  held.release()
  const second = await startRedis(folder, port)
  onTestFinished(() => second.kill())

  await line.idle()
  await line.tick('sweep')
  await line.idle()
  expect(await line.rows(stored)).toEqual(whole)
})

test('a Postgres that crashes in mid-run and recovers costs nothing', { timeout: 90_000 }, async ({
  peer,
  skip,
  onTestFinished,
}) => {
  if (inject('redisUrl') === '') skip(noRedis)
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-chaos-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres({ folder })
  onTestFinished(() => postgres.close())
  const databaseUrl = postgres.adminUrl('postgres')
  const migrations = new URL('../../src/warehouse/migrations/', import.meta.url)
  await migrate({ databaseUrl, folder: migrations, schema: 'vitalsync' })
  const queueUrl = await redisOfOurOwn()
  const line = await openLine({ warehouseUrl: databaseUrl, queueUrl, upstream: peer, settings: { CONCURRENCY: '2' } })
  onTestFinished(() => line.close())
  await line.people(...people)
  for (const name of people) peer.give(name, 'scores', [scoreOf(12, 0.1), scoreOf(11, 0.2)])
  const held = peer.hold(isReadOf('scores', 'person-9'), 'after')
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())
  await line.tick('sync', { streams: ['scores'] })
  await held.reached

  // A backend that is killed takes all others with it: Postgres starts anew from its log.
  const [victim] = await line.rows('select pg_backend_pid() as pid')
  process.kill(Number(victim?.['pid']), 'SIGKILL')
  held.release()
  await expect.poll(() => answers(databaseUrl), soon).toBe(true)

  await line.idle()
  await line.tick('sweep')
  await line.idle()
  expect(await line.rows(stored)).toEqual(whole)
  expect(worker.child.exitCode).toBeNull()
})

async function answers(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined)
  const asked = client.connect().then(() => client.query('select 1'))
  return asked
    .then(() => client.end())
    .then(
      () => true,
      () => false,
    )
}
