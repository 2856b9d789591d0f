import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { buildProgram } from './built-program.ts'
import { openMemoryFolder } from './memory-folder.ts'
import { failIfRequired, isInstalled } from './programs.ts'
import { startRedis } from './redis-server.ts'

/** Six files at once with up to a hundred each: two versions of a worker, or queues of many parts, in several processes. */
const TEST_CONNECTIONS_MAX = 600

/**
 * The engines of a test run, in this order of preference: the addresses TEST_DATABASE_URL and TEST_REDIS_URL; containers, where
 * Docker answers; the embedded Postgres and a `redis-server` on the PATH. Without any Redis the tests on Redis are skipped, and
 * the last line of the run says so.
 */
type TestEngine = { url: string; from: string; close(): Promise<void> }

declare module 'vitest' {
  interface ProvidedContext {
    databaseUrl: string
    redisUrl: string
  }
}

type Project = {
  readonly config?: { readonly watch: boolean }
  provide(key: 'databaseUrl' | 'redisUrl', value: string): void
}

export default async function setup(project: Project): Promise<() => Promise<void>> {
  const memory = await openMemoryFolder()
  // Where the sources change during the run, watched or mutated, programs start from them.
  const built = project.config?.watch === false ? buildProgram() : undefined
  const docker = !process.env['FAKETIME'] && (await dockerAnswers()) // a container would live by another clock
  if (!isInstalled('redis-server') && !given('TEST_REDIS_URL') && !docker) failIfRequired('redis-server')
  const postgres = given('TEST_DATABASE_URL') ?? (docker ? await containerPostgres() : await embeddedPostgres())
  const redis = given('TEST_REDIS_URL') ?? (docker ? await containerRedis() : await localRedis())
  process.env['TEST_PROGRAM'] ??= await built // the test processes, which come later, inherit it
  project.provide('databaseUrl', postgres.url)
  project.provide('redisUrl', redis?.url ?? '')
  console.log(`Postgres: ${postgres.from}; Redis: ${redis?.from ?? 'none'}`)
  return async () => {
    await redis?.close()
    await postgres.close()
    await memory?.close()
  }
}

const nothingToClose = async () => undefined

function given(name: string): TestEngine | undefined {
  const url = process.env[name]
  return url ? { url, from: name, close: nothingToClose } : undefined
}

async function dockerAnswers(): Promise<boolean> {
  if (process.env['TEST_DATABASE_URL'] && process.env['TEST_REDIS_URL']) return false
  const { getContainerRuntimeClient } = await import('testcontainers')
  return getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
}

async function containerPostgres(): Promise<TestEngine> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const container = await new GenericContainer('postgres:18-alpine')
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withExposedPorts(5432)
    .withCommand(['postgres', '-c', 'fsync=off', '-c', `max_connections=${TEST_CONNECTIONS_MAX}`])
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
    .start()
  const url = `postgres://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`
  return { url, from: 'container', close: async () => void (await container.stop()) }
}

async function containerRedis(): Promise<TestEngine> {
  const { GenericContainer } = await import('testcontainers')
  const container = await new GenericContainer('redis:7-alpine')
    .withExposedPorts(6379)
    .withCommand(['redis-server', '--maxmemory-policy', 'noeviction', '--appendonly', 'yes'])
    .start()
  const url = `redis://${container.getHost()}:${container.getMappedPort(6379)}`
  return { url, from: 'container', close: async () => void (await container.stop()) }
}

async function embeddedPostgres(): Promise<TestEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-test-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder, throwAway: true, connectionsMax: TEST_CONNECTIONS_MAX })
  return {
    url: postgres.adminUrl('postgres'),
    from: 'embedded',
    close: async () => {
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function localRedis(): Promise<TestEngine | undefined> {
  if (!isInstalled('redis-server')) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-redis-'))
  const { url, kill } = await startRedis(
    folder,
    await freePort(),
    '--appendonly',
    'yes',
    '--maxmemory-policy',
    'noeviction',
  )
  const close = async () => {
    await kill()
    await rm(folder, { recursive: true, force: true })
  }
  return { url, from: 'redis-server on the PATH', close }
}
