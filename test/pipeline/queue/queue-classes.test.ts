import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { openQueueEngine, type QueueEngine } from '../../../src/pipeline/queue/engine.ts'
import { test as base, soon } from '../../support/fixtures.ts'
import { openOwnRedis } from '../../support/own-redis.ts'
import { type QueueKind, queueKinds } from '../../support/test-pipeline.ts'

/** A server that stops, or refuses every job with these words. */
type Server = {
  readonly url: string
  readonly refusal: RegExp
  stop(): Promise<void>
  startAgain(): Promise<void>
  refuse(): Promise<void>
  accept(): Promise<void>
}

const test = base.extend<{ openQueue: (kind: QueueKind) => Promise<{ server: Server; engine: QueueEngine }> }>({
  openQueue: async ({ database, skip, onTestFinished }, use) => {
    await use(async (kind) => {
      const server = kind === 'redis' ? await openRedis({ skip, onTestFinished }) : openPostgres(database)
      const engine = await openQueueEngine(server.url)
      onTestFinished(() => engine.close())
      return { server, engine }
    })
  },
})

async function openRedis(hooks: Parameters<typeof openOwnRedis>[0]): Promise<Server> {
  const { url, kill, startAgain } = await openOwnRedis(hooks)
  const limitMemory = async (bytes: number) => {
    const redis = new Redis(url)
    await redis.config('SET', 'maxmemory', bytes)
    redis.disconnect()
  }
  return { url, refusal: /^OOM/, stop: kill, startAgain, refuse: () => limitMemory(1), accept: () => limitMemory(0) }
}

/** Another database of the server is another queue, so that this one alone can be away. */
function openPostgres(url: string): Server {
  const name = new URL(url).pathname.slice(1)
  const administer = async (statement: string) => {
    const admin = new pg.Client({ connectionString: inject('databaseUrl') })
    await admin.connect()
    await admin.query(statement)
    await admin.end()
  }
  const stop = async () => {
    await administer(`alter database ${name} allow_connections false`)
    await administer(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`)
  }
  const startAgain = () => administer(`alter database ${name} allow_connections true`)
  return {
    ...{ url, refusal: /not currently accepting connections/ },
    ...{ stop, startAgain, refuse: stop, accept: startAgain },
  }
}

const data = { runId: '1', profileId: '1', params: {} }

for (const kind of queueKinds) {
  test(`a queue that is first used while its server is away takes jobs when the server is back (${kind})`, async ({
    openQueue,
  }) => {
    const { server, engine } = await openQueue(kind)
    const add = () => engine.queue('manual').add('work', data)
    await server.stop()
    await expect(add()).rejects.toThrow()

    await server.startAgain()

    const isTaken = () =>
      add().then(
        () => true,
        () => false,
      )
    await expect.poll(isTaken, soon).toBe(true)
  })

  test(`a worker rests between claims that are refused, and claims nothing when it closes (${kind})`, async ({
    openQueue,
  }) => {
    const { server, engine } = await openQueue(kind)
    await engine.queue('manual').add('work', data)
    await server.refuse()
    const refusedAtMs: number[] = []
    const twice = Promise.withResolvers<void>()
    const worker = engine.worker({ lane: 'manual', part: 0 }, async () => undefined, { skipStalledCheck: true })
    worker.on('error', ({ message }) => {
      if (!server.refusal.test(message)) return
      refusedAtMs.push(performance.now())
      if (refusedAtMs.length === 2) twice.resolve()
    })
    await twice.promise
    await server.accept()

    await worker.close()

    const [first = 0, second = 0] = refusedAtMs
    expect(second - first).toBeGreaterThan(1000)
    expect(await engine.queue('manual').getWaitingCount()).toBe(1)
  })
}
