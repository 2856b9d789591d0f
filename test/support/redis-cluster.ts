import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'
import { soon } from './fixtures.ts'
import { needProgram } from './programs.ts'

type Node = { child: ChildProcess; port: number; busPort: number }
/** The masters first, then their replicas in the same order. */
export type RedisNodes = { addresses: string[]; redises: Redis[]; kill(index: number): Promise<void> }

const SLOTS = 16_384
const MASTERS = 3
/** After this time of silence a replica takes the place of its master. */
const SILENCE_MAX_MS = 1500

/** Undefined when this redis-server is older than 7.0. */
async function startNode(folder: string): Promise<Node | undefined> {
  const [port, busPort] = [await freePort(), await freePort()]
  const words = ['--port', port, '--cluster-port', busPort, '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const more = ['--cluster-enabled', 'yes', '--cluster-config-file', `${port}.conf`, '--appendonly', 'yes']
  const names = ['--appenddirname', `aof-${port}`, '--dbfilename', `${port}.rdb`]
  const times = ['--cluster-node-timeout', SILENCE_MAX_MS, '--repl-diskless-sync-delay', 0]
  const child = spawn('redis-server', [...words, ...more, ...names, ...times].map(String))
  const ready = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', () => resolve(false))
    child.stdout.on('data', (chunk: Buffer) => chunk.includes('Ready to accept connections') && resolve(true))
  })
  return ready ? { child, port, busPort } : undefined
}

type TestHooks = { skip(note: string): never; onTestFinished(end: () => Promise<void>): void }

/** Three masters, each with a third of the slots, and a replica of each where asked for. */
export async function startRedisCluster({ skip, onTestFinished }: TestHooks, replicas = false): Promise<RedisNodes> {
  needProgram(skip, 'redis-server')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-cluster-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const starting = Array.from({ length: replicas ? 2 * MASTERS : MASTERS }, () => startNode(folder))
  const nodes = (await Promise.all(starting)).flatMap((node) => node ?? [])
  const redises = nodes.map(({ port }) => new Redis(port, '127.0.0.1'))
  for (const redis of redises) redis.on('error', () => undefined) // a node that the test killed
  const kill = async ({ child }: Node) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(async () => {
    for (const redis of redises) redis.disconnect()
    for (const node of nodes) await kill(node)
  })
  const [first] = nodes
  if (!first || nodes.length < starting.length) return skip('redis-server is older than 7.0')
  await joinNodes(nodes, redises, first)
  return {
    redises,
    addresses: nodes.map(({ port }) => `127.0.0.1:${port}`),
    kill: async (index) => kill(nodes[index] ?? first),
  }
}

async function joinNodes(nodes: readonly Node[], redises: readonly Redis[], first: Node): Promise<void> {
  for (const [index, redis] of redises.entries()) {
    const [from = 0, to = 0] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / MASTERS))
    if (index < MASTERS) await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to - 1)
    if (index > 0) await redis.call('CLUSTER', 'MEET', '127.0.0.1', first.port, first.busPort)
  }
  const known = () => Promise.all(redises.map(async (redis) => String(await redis.cluster('INFO'))))
  const whole = expect.stringMatching(new RegExp(`cluster_state:ok.*cluster_known_nodes:${nodes.length}`, 's'))
  await expect.poll(known, soon).toEqual(nodes.map(() => whole))
  const replicating = redises.slice(MASTERS).map(async (redis, index) => {
    await redis.call('CLUSTER', 'REPLICATE', String(await redises[index]?.cluster('MYID')))
    await expect.poll(() => redis.info('replication'), soon).toContain('master_link_status:up')
  })
  await Promise.all(replicating)
}
