import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { openMemoryFolder } from '../../support/memory-folder.ts'
import { isInstalled } from '../../support/programs.ts'
import { startRedis } from '../../support/redis-server.ts'

/** One Postgres and one Redis for all test processes, in memory where there is room, unless the environment names others. */
export async function withServer<T>(work: (serverUrl: string) => Promise<T>): Promise<T> {
  const memory = await openMemoryFolder()
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sql-mutants-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await ownPostgres(folder)
  const redis = await ownRedis(folder)
  try {
    return await work(process.env['TEST_DATABASE_URL'] ?? '')
  } finally {
    await redis?.kill()
    await postgres?.close()
    await rm(folder, { recursive: true, force: true })
    await memory?.close()
  }
}

async function ownPostgres(folder: string) {
  if (process.env['TEST_DATABASE_URL']) return undefined
  const postgres = await startPostgres({ folder, throwAway: true, connectionsMax: 300 })
  process.env['TEST_DATABASE_URL'] = postgres.adminUrl('postgres')
  return {
    async close() {
      delete process.env['TEST_DATABASE_URL']
      await postgres.close()
    },
  }
}

/** The settings are those of `test/support/test-engines.ts`. */
async function ownRedis(folder: string) {
  if (process.env['TEST_REDIS_URL'] || !isInstalled('redis-server')) return undefined
  const settings = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction']
  const redis = await startRedis(folder, await freePort(), ...settings)
  process.env['TEST_REDIS_URL'] = redis.url
  return {
    async kill() {
      delete process.env['TEST_REDIS_URL']
      await redis.kill()
    },
  }
}
