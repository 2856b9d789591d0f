import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { freePort, startPostgres } from '../../src/base/engines/embedded-postgres.ts'

/** A Postgres and, where there is one on the PATH, a Redis of a round's own, both set to keep what they acknowledge. */
export type Engines = {
  /** Address of a fresh database. */
  database(): Promise<string>
  adminUrl: string
  /** Undefined where there is no `redis-server`: the round leaves that half out and says so. */
  redisUrl: string | undefined
  versions: string
  /** Forgets former rounds: writes out what Postgres has in memory, empties Redis. */
  settle(): Promise<void>
  drop(url: string): Promise<void>
  close(): Promise<void>
}

const running = new Set<Engines>()

/** For a run that is broken off: servers of ours would outlive it. */
export const closeAllEngines = async (): Promise<void> =>
  void (await Promise.all([...running].map((engines) => engines.close())))

export async function startEngines(): Promise<Engines> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-bench-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder })
  const redis = await startRedis(folder)
  const adminUrl = postgres.adminUrl('postgres')
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  const { rows } = await admin.query('show server_version')
  let made = 0
  const engines: Engines = {
    adminUrl,
    redisUrl: redis?.url,
    versions: `Postgres ${rows[0].server_version} (fsync on)${redis ? `, ${redis.version} (AOF everysec)` : ', no Redis'}`,
    async database() {
      made += 1
      await admin.query(`create database bench_${made}`)
      return postgres.adminUrl(`bench_${made}`)
    },
    async settle() {
      await admin.query('checkpoint')
      await redis?.empty()
    },
    async drop(url) {
      await admin.query(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`)
    },
    async close() {
      running.delete(engines)
      await admin.end()
      await redis?.close()
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  running.add(engines)
  return engines
}

type LocalRedis = { url: string; version: string; empty(): Promise<void>; close(): Promise<void> }

async function startRedis(folder: string): Promise<LocalRedis | undefined> {
  const port = await freePort()
  const words = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const durable = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--maxmemory-policy', 'noeviction']
  const child = spawn('redis-server', [...words, ...durable], { stdio: ['ignore', 'pipe', 'ignore'] })
  let said = ''
  const ready = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', () => resolve(false))
    child.stdout.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('utf8')).slice(-20_000)
      if (said.includes('Ready to accept connections')) resolve(true)
    })
  })
  if (!ready) return undefined
  const version = /Redis version=([\d.]+)/.exec(said)?.[1] ?? ''
  const client = new Redis(port)
  return {
    url: `redis://127.0.0.1:${port}`,
    version: `Redis ${version}`,
    empty: async () => void (await client.flushall()),
    async close() {
      client.disconnect()
      await endOf(child)
    },
  }
}

export async function endOf(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}
