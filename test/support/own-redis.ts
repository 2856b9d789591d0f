import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'
import { failIfRequired, needProgram, noteOf } from './programs.ts'
import { startRedis } from './redis-server.ts'
import type { QueueKind } from './test-pipeline.ts'

type TestHooks = { skip(note: string): never; onTestFinished(end: () => Promise<void>): void }

/** For tests that use the Redis of the run: where none is given, no Docker engine answers and none is installed, they are skipped. */
export function needRedis(skip: TestHooks['skip']): void {
  if (inject('redisUrl') !== '') return
  failIfRequired('redis-server')
  skip(noteOf('redis-server'))
}

/** A Redis that keeps an append-only file and belongs to one test, which may kill it and start it again. */
export async function openOwnRedis({ skip, onTestFinished }: TestHooks) {
  needProgram(skip, 'redis-server')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-redis-'))
  const port = await freePort()
  const start = () => startRedis(folder, port, '--appendonly', 'yes')
  let running = await start()
  onTestFinished(async () => {
    await running.kill()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    url: running.url,
    kill: () => running.kill(),
    async startAgain() {
      running = await start()
    },
  }
}

/** Settings with a queue of its own for one test of several that run at once: the tests of a file share one database of Redis. */
export async function ownQueue(engine: QueueKind, hooks: TestHooks): Promise<Record<string, string>> {
  return engine === 'postgres' ? {} : { QUEUE_URL: (await openOwnRedis(hooks)).url }
}
