import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../src/engines/embedded-postgres.ts'
import { type Program, type ProgramEnd, startProgram } from '../support/run-program.ts'

export type SyncedWarehouse = {
  readonly name: string
  readonly databaseUrl: string
  /** Starts a command of vitalsync on it. */
  start(...words: string[]): Program
  /** Runs a command of vitalsync on it to its end. */
  command(...words: string[]): Promise<ProgramEnd>
}

/** A sandbox, and as many warehouses as one wants that are synced from it, each with a queue of its own. */
export type SandboxWarehouses = {
  readonly folder: string
  /** A database on a plain Postgres, beside the sandbox's own. */
  createDatabase(name: string): Promise<string>
  open(name: string, database: { readonly url: string; readonly shards: number }): Promise<SyncedWarehouse>
  close(): Promise<void>
}

export async function openSandboxWarehouses({
  people,
  days,
}: {
  readonly people: number
  readonly days: number
}): Promise<SandboxWarehouses> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-warehouses-'))
  const closing: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const one of closing.toReversed()) await one().catch((error: Error) => console.error(error.message))
  }
  try {
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
    closing.push(() => postgres.close())
    const createDatabase = async (name: string) => {
      const admin = new pg.Client({ connectionString: postgres.adminUrl('postgres') })
      await admin.connect()
      await admin.query(`create database ${name}`).finally(() => admin.end())
      return postgres.adminUrl(name)
    }
    const shape = ['--profiles', String(people), '--days', String(days), '--seed', '1', '--json']
    const sandbox = startProgram(['sandbox', '--host', '127.0.0.1', '--port', '0', ...shape], {
      cwd: folder,
      env: { DATABASE_URL: await createDatabase('service') },
    })
    closing.push(async () => {
      sandbox.kill('SIGKILL')
      await sandbox.ended
    })
    const access: { url: string; clientId: string; clientSecret: string } = JSON.parse(
      (await sandbox.said(/^\{"url":.*"clientId".*\}$/m))[0],
    )
    return {
      folder,
      createDatabase,
      async open(name, { url, shards }) {
        const env = {
          DATABASE_URL: url,
          QUEUE_URL: await createDatabase(`queue_${name}`),
          WAREHOUSE_SHARDS: String(shards),
          UPSTREAM_URL: access.url,
          UPSTREAM_CLIENT_ID: access.clientId,
          UPSTREAM_CLIENT_SECRET: access.clientSecret,
          TOKEN_KEY: Buffer.alloc(32, 3).toString('base64'),
          HISTORY_DAYS: String(days),
        }
        const start = (...words: string[]) => startProgram(words, { cwd: folder, env })
        return { name, databaseUrl: url, start, command: (...words) => start(...words).ended }
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
