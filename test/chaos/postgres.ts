import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { migrate } from '../../src/engines/migrate.ts'
import { startPostgres } from '../../src/engines/postgres.ts'
import type { Line } from '../support/pipeline.ts'

/** A warehouse on a Postgres of the test's own, which may be made to crash. */
export async function startWarehouse() {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-chaos-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder })
  const databaseUrl = postgres.adminUrl('postgres')
  const migrations = new URL('../../src/warehouse/migrations/', import.meta.url)
  await migrate({ databaseUrl, folder: migrations, schema: 'vitalsync' })
  const close = async () => {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { databaseUrl, close }
}

/** A backend that is killed takes all others with it: Postgres starts anew from its log. */
export async function crash(line: Line): Promise<void> {
  const [victim] = await line.rows('select pg_backend_pid() as pid')
  process.kill(Number(victim?.['pid']), 'SIGKILL')
}

export const succeeds = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  )

/** Whether it takes new connections. */
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
