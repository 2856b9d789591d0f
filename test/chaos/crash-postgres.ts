import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { applyMigrations } from '../../src/engines/apply-migrations.ts'
import { startPostgres } from '../../src/engines/embedded-postgres.ts'
import type { TestPipeline } from '../support/test-pipeline.ts'

/** A warehouse on a Postgres that belongs to the test, so the test can crash it. */
export async function startWarehouse() {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-chaos-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder })
  const databaseUrl = postgres.adminUrl('postgres')
  const migrations = new URL('../../src/warehouse/migrations/', import.meta.url)
  await applyMigrations({ databaseUrl, folder: migrations, schema: 'vitalsync' })
  const close = async () => {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { databaseUrl, close }
}

/** Kills one backend: Postgres then ends all backends and recovers from its write-ahead log. */
export async function crash(line: TestPipeline): Promise<void> {
  const witness = new pg.Client({ connectionString: line.settings['DATABASE_URL'] })
  const ended = new Promise((resolve) => witness.once('end', resolve).on('error', () => undefined))
  await witness.connect()
  const [victim] = await line.rows('select pg_backend_pid() as pid')
  process.kill(Number(victim?.['pid']), 'SIGKILL')
  // Until the server has noticed, it still accepts connections, and ends them a moment later.
  await ended
}

export const succeeds = (answer: Promise<unknown>): Promise<boolean> =>
  answer.then(
    () => true,
    () => false,
  )

/** Whether the server accepts new connections. */
export async function answers(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => undefined)
  return succeeds(
    client
      .connect()
      .then(() => client.query('select 1'))
      .then(() => client.end()),
  )
}
