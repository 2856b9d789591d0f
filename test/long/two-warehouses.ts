import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../src/engines/embedded-postgres.ts'
import { type ProgramEnd, startProgram } from '../support/run-program.ts'

export type SyncedWarehouse = {
  readonly name: 'plain' | 'citus'
  readonly databaseUrl: string
  /** Runs a command of vitalsync on it. */
  command(...words: string[]): Promise<ProgramEnd>
}

/** A sandbox as upstream, and two warehouses that are synced from it: one on a plain Postgres, one on Citus. */
export async function openTwoWarehouses({
  people,
  days,
  citus,
}: {
  readonly people: number
  readonly days: number
  readonly citus: { readonly databaseUrl: string; readonly shards: number }
}) {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-two-'))
  const closing: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const one of closing.toReversed()) await one().catch((error: Error) => console.error(error.message))
  }
  try {
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
    closing.push(() => postgres.close())
    const admin = new pg.Client({ connectionString: postgres.adminUrl('postgres') })
    await admin.connect()
    for (const name of ['service', 'plain', 'queue_plain', 'queue_citus']) await admin.query(`create database ${name}`)
    await admin.end()
    const shape = ['--profiles', String(people), '--days', String(days), '--seed', '1', '--json']
    const sandbox = startProgram(['sandbox', '--host', '127.0.0.1', '--port', '0', ...shape], {
      cwd: folder,
      env: { DATABASE_URL: postgres.adminUrl('service') },
    })
    closing.push(async () => {
      sandbox.kill('SIGKILL')
      await sandbox.ended
    })
    const access: { url: string; clientId: string; clientSecret: string } = JSON.parse(
      (await sandbox.said(/^\{"url":.*"clientId".*\}$/m))[0],
    )
    const warehouse = (name: SyncedWarehouse['name'], databaseUrl: string, shards: number): SyncedWarehouse => {
      const env = {
        DATABASE_URL: databaseUrl,
        QUEUE_URL: postgres.adminUrl(`queue_${name}`),
        WAREHOUSE_SHARDS: String(shards),
        UPSTREAM_URL: access.url,
        UPSTREAM_CLIENT_ID: access.clientId,
        UPSTREAM_CLIENT_SECRET: access.clientSecret,
        TOKEN_KEY: Buffer.alloc(32, 3).toString('base64'),
        HISTORY_DAYS: String(days),
      }
      return { name, databaseUrl, command: (...words) => startProgram(words, { cwd: folder, env }).ended }
    }
    return {
      folder,
      plain: warehouse('plain', postgres.adminUrl('plain'), 1),
      citus: warehouse('citus', citus.databaseUrl, citus.shards),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
