import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { isProcessAlive } from '../../../src/base/files/folder-lock.ts'
import { SECOND } from '../../../src/base/time/units.ts'
import { isInstalled } from '../../support/programs.ts'
import { startRedis } from '../../support/redis-server.ts'
import { STARTS_WITHIN_MS, until } from './until.ts'

/** A Postgres of the run's own, which can be stopped at once, slowed down, and be given a full disk. */
export type DamagedPostgres = {
  url(database: string): string
  /** Whether its disk is small enough to be filled. */
  readonly hasSmallDisk: boolean
  stopAtOnce(forMs: number): Promise<boolean>
  slowDown(forMs: number): Promise<boolean>
  fillDisk(forMs: number): Promise<boolean>
  close(): Promise<void>
}

const DISK_SIZE = '1200m'
const STOPS_WITHIN_MS = 30 * SECOND

export async function startDamagedPostgres(): Promise<DamagedPostgres> {
  const disk = await mkdtemp(join(tmpdir(), 'vitalsync-history-'))
  await chmod(disk, 0o755) // as root, the server runs as nobody and must be able to enter
  const mount = ['-t', 'tmpfs', '-o', `size=${DISK_SIZE},mode=755`, 'tmpfs', disk]
  const hasSmallDisk = process.getuid?.() === 0 && spawnSync('mount', mount).status === 0
  const folder = join(disk, 'postgres')
  await mkdir(folder)
  await writeFile(join(folder, 'postgres-port'), String(await lastingPort()))
  let postgres = await startPostgres({ folder })
  const pid = async () => Number((await readFile(join(postgres.dataFolder, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const startAgain = async () => {
    postgres = await startPostgres({ folder })
  }
  return {
    url: (database) => postgres.adminUrl(database),
    hasSmallDisk,
    async stopAtOnce(forMs) {
      const stopped = await pid()
      process.kill(stopped, 'SIGQUIT')
      const isStopped = await until(() => !isProcessAlive(stopped), STOPS_WITHIN_MS)
      await wait(forMs)
      await startAgain()
      return isStopped
    },
    slowDown: async (forMs) => slowDown(await pid(), forMs),
    async fillDisk(forMs) {
      const filler = join(disk, 'filler')
      const isFull = await fill(filler)
      await wait(forMs)
      await rm(filler)
      if (!isProcessAlive(await pid().catch(() => 0))) await startAgain()
      return isFull
    },
    async close() {
      await postgres.close()
      if (hasSmallDisk) spawnSync('umount', ['-l', disk])
      await rm(disk, { recursive: true, force: true })
    },
  }
}

const STANDS_MS = 250

/** The server's processes stand still again and again, as those do that wait for a disk. */
async function slowDown(postmaster: number, forMs: number): Promise<boolean> {
  let stops = 0
  for (const untilMs = performance.now() + forMs; performance.now() < untilMs; await wait(STANDS_MS / 2)) {
    const stopped = (await childrenOf(postmaster)).filter((pid) => sendSignal(pid, 'SIGSTOP'))
    await wait(STANDS_MS)
    stops += stopped.filter((pid) => sendSignal(pid, 'SIGCONT')).length
  }
  return stops > 0
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const parents = await Promise.all(pids.map(parentOf))
  return pids.filter((_, index) => parents[index] === parent)
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** False when the process has ended. */
function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Each write waits its turn on a busy machine: few large ones. */
const CHUNK_BYTES = 16 * 1024 * 1024

/** Writes until the disk takes no byte more. */
async function fill(file: string): Promise<boolean> {
  const handle = await open(file, 'w')
  try {
    for (const chunk = Buffer.alloc(CHUNK_BYTES); ; ) await handle.write(chunk)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return true
    throw error
  } finally {
    await handle.close()
  }
}

/**
 * A free port outside of those that the system gives out: while the server is away, another program that asks for any port could be
 * given this one, and the server would never come back.
 */
async function lastingPort(): Promise<number> {
  for (let tries = 0; tries < PORT_TRIES_MAX; tries += 1) {
    const port = LASTING_PORTS.from + Math.floor(Math.random() * LASTING_PORTS.count)
    if (await isFree(port)) return port
  }
  throw new Error('choose a port: none of a hundred was free')
}

/** Linux gives out ports from 32768. */
const LASTING_PORTS = { from: 15_000, count: 15_000 }
const PORT_TRIES_MAX = 100

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })

/** A Redis of the run's own, which can be killed; undefined without a redis-server on the PATH. */
export async function startDamagedRedis() {
  if (!isInstalled('redis-server')) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-history-redis-'))
  const port = await lastingPort()
  const start = () => startRedis(folder, port, '--appendonly', 'yes')
  let redis = await start()
  return {
    url: `redis://127.0.0.1:${port}`,
    async dieAndComeBack(forMs: number): Promise<boolean> {
      await redis.kill()
      await wait(forMs)
      return until(async () => {
        redis = await start()
        return true
      }, STARTS_WITHIN_MS)
    },
    async close() {
      await redis.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
