import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { examineRedis } from '../../src/queue/examine-redis.ts'
import { startWorkerProcess } from '../chaos/workers.ts'
import { soon } from '../support/fixtures.ts'
import { freePort } from '../support/ports.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { openTestPipeline, test } from '../support/test-pipeline.ts'

type Node = { child: ChildProcess; port: number; busPort: number }
type Nodes = { addresses: string[]; redises: Redis[] }

const SLOTS = 16_384

/** Undefined when no redis-server is on the PATH. */
async function startNode(folder: string): Promise<Node | undefined> {
  const [port, busPort] = [await freePort(), await freePort()]
  const words = ['--port', port, '--cluster-port', busPort, '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const more = ['--cluster-enabled', 'yes', '--cluster-config-file', `${port}.conf`, '--appendonly', 'yes']
  const child = spawn('redis-server', [...words, ...more, '--appenddirname', `aof-${port}`].map(String))
  const ready = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', () => resolve(false))
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('Ready to accept connections') && resolve(true))
  })
  return ready ? { child, port, busPort } : undefined
}

type TestHooks = { skip(note: string): never; onTestFinished(end: () => Promise<void>): void }

/** Three masters, each with a third of the slots. */
async function startCluster({ skip, onTestFinished }: TestHooks): Promise<Nodes> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-cluster-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const nodes = (await Promise.all([1, 2, 3].map(() => startNode(folder)))).flatMap((node) => node ?? [])
  const redises = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
  onTestFinished(async () => {
    for (const redis of redises) redis.disconnect()
    for (const { child } of nodes) {
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
  })
  const [first, , third] = nodes
  if (!first || !third) return skip('no redis-server of 7.0 or newer on the PATH')
  for (const [index, redis] of redises.entries()) {
    const [from = 0, to = 0] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / 3))
    await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1)
    if (index > 0) await redis.call('CLUSTER', 'MEET', '127.0.0.1', first.port, first.busPort)
  }
  const known = () => Promise.all(redises.map(async (redis) => String(await redis.cluster('INFO'))))
  const whole = expect.stringMatching(/cluster_state:ok.*cluster_known_nodes:3/s)
  await expect.poll(known, soon).toEqual([whole, whole, whole])
  return { redises, addresses: nodes.map(({ port }) => `127.0.0.1:${port}`) }
}

test('queue, budget and doctor work on a Redis Cluster', async ({ warehouseUrl, peer, skip, onTestFinished }) => {
  const { addresses, redises } = await startCluster({ skip, onTestFinished })
  const queueUrl = `redis://${addresses.join(',')}`
  const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: peer, settings: { CONCURRENCY: '2' } })
  onTestFinished(() => line.close())
  const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4), scoreOf(9, 0.5)])
  line.work()
  const worker = await startWorkerProcess(line.settings)
  onTestFinished(() => worker.kill())

  const run = await line.tick('sync', { streams: ['scores'] })
  await line.idle()

  expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(24)
  await expect.poll(() => line.pipeline.runs.get(run.id), soon).toMatchObject({ state: 'done', done: 12 })
  // All keys lie on one node, with the budget that both processes share.
  const keys = await Promise.all(redises.map((redis) => redis.keys('*')))
  const [ours = [], ...others] = keys.sort((a, b) => b.length - a.length)
  expect(others).toEqual([[], []])
  expect(ours.every((key) => key.startsWith('{vitalsync}'))).toBe(true)
  const members = await Promise.all(redises.map((redis) => redis.hlen('{vitalsync}:budget:lines').catch(() => 0)))
  expect(Math.max(...members)).toBe(2)
})

test('the doctor tells a cluster from a single Redis, and a wrong address from a right one', async ({
  redisUrl,
  skip,
  onTestFinished,
}) => {
  const { addresses } = await startCluster({ skip, onTestFinished })
  const [first = ''] = addresses
  const told = async (url: string) =>
    (await examineRedis('queue', url)).filter(({ state }) => state !== 'well').map(({ text, hint }) => [text, hint])
  const whole = await examineRedis('queue', `redis://${first}?cluster`)

  expect(whole).toContainEqual({
    subject: 'queue',
    state: 'well',
    text: 'a Redis Cluster of 3 masters, every slot served',
  })
  expect(new Set(whole.map(({ subject }) => subject)).size).toBe(4)
  expect(await told(`redis://${addresses.join(',')}`)).toEqual([])
  expect(await told(`redis://${first}`)).toEqual([
    [expect.stringContaining('addressed as if it were alone'), expect.stringContaining('?cluster')],
  ])
  expect(await told(`${redisUrl}?cluster`)).toEqual([
    ['it is a Redis of its own, no cluster', expect.stringContaining('without ?cluster')],
  ])
})
