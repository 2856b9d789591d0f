import { execFile } from 'node:child_process'
import { appendFile, chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { expect } from 'vitest'
import { applyMigrations } from '../../src/base/engines/apply-migrations.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import type { TestPipeline } from '../support/test-pipeline.ts'

/** A warehouse on a Postgres that belongs to the test, so the test can crash it. */
export async function startWarehouse(parent: string = tmpdir()) {
  const folder = await mkdtemp(join(parent, 'vitalsync-chaos-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder })
  const databaseUrl = postgres.adminUrl('postgres')
  const migrations = new URL('../../src/pipeline/warehouse/migrations/', import.meta.url)
  await applyMigrations({ databaseUrl, folder: migrations, schema: 'vitalsync' })
  const close = async () => {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { databaseUrl, close, folder, dataFolder: postgres.dataFolder }
}

/** A standby of this warehouse, without which the warehouse commits nothing any more. */
export async function startStandby({ databaseUrl, folder, dataFolder }: Awaited<ReturnType<typeof startWarehouse>>) {
  const copy = await mkdtemp(join(tmpdir(), 'vitalsync-standby-'))
  await chmod(copy, 0o755)
  const admin = new pg.Client({ connectionString: databaseUrl })
  await admin.connect()
  await admin.query("select pg_backup_start('standby', true)")
  const copied = join(copy, basename(dataFolder))
  await run('cp', ['-a', dataFolder, copied])
  await rm(join(copied, 'postmaster.pid'))
  const { rows } = await admin.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  await writeFile(join(copied, 'backup_label'), rows[0]?.labelfile ?? '')
  await writeFile(join(copied, 'standby.signal'), '')
  const { hostname, port, username, password } = new URL(databaseUrl)
  const source = `host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`
  await appendFile(join(copied, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
  await run('chown', ['-R', `--reference=${dataFolder}`, copied]) // as root, the server runs as nobody
  await copyFile(join(folder, 'postgres-password'), join(copy, 'postgres-password'))
  const standby = await startPostgres({ folder: copy })
  await admin.query("alter system set synchronous_standby_names = '*'")
  await admin.query('select pg_reload_conf()')
  const isSynchronous = () => admin.query("select 1 from pg_stat_replication where sync_state = 'sync'")
  await expect.poll(async () => (await isSynchronous()).rowCount).toBe(1)
  await admin.end()
  const close = async () => {
    await standby.close()
    await rm(copy, { recursive: true, force: true })
  }
  return { databaseUrl: standby.adminUrl('postgres'), close }
}

const run = promisify(execFile)

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
