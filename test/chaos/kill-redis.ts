import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../src/engines/free-port.ts'
import type { QueueKind } from '../support/test-pipeline.ts'

/** A Redis that belongs to the test, so the test can kill it and start it again from its append-only file. */
export async function startRedis(folder: string, port: number) {
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

/**
 * A queue of its own for one test of several that run at once: the tests of a file share one database of Redis. Without a
 * redis-server the settings are empty, and opening the pipeline skips the test.
 */
export async function ownQueue(engine: QueueKind, onTestFinished: (end: () => Promise<void>) => void) {
  if (engine === 'postgres') return {}
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-chaos-'))
  const port = await freePort()
  const redis = await startRedis(folder, port).catch(() => undefined)
  onTestFinished(async () => {
    await redis?.kill()
    await rm(folder, { recursive: true, force: true })
  })
  return redis ? { QUEUE_URL: `redis://127.0.0.1:${port}` } : {}
}
