import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { startProgram } from '../support/run-program.ts'

/** As the sandbox prints it. */
export type SandboxAccess = {
  readonly url: string
  readonly controlUrl: string
  readonly controlToken: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A sandbox that runs as a process, and a Postgres in a folder of its own. */
export type LongSandbox = {
  readonly folder: string
  readonly access: SandboxAccess
  /** The address of a superuser. */
  databaseUrl(database: string): string
  createDatabase(name: string): Promise<string>
  /** Called by `close`, the last one first. */
  atClose(step: () => Promise<unknown>): void
  close(): Promise<void>
}

/** `shape`: further options of the command `sandbox`. */
export async function startLongSandbox({
  people,
  days,
  shape = [],
}: {
  readonly people: number
  readonly days: number
  readonly shape?: readonly string[]
}): Promise<LongSandbox> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-long-'))
  const closing: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const close of closing.splice(0).toReversed())
      await close().catch((error: Error) => console.error(error.message))
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
    const size = ['--profiles', String(people), '--days', String(days)]
    const sandbox = startProgram(['sandbox', '--host', '127.0.0.1', '--port', '0', ...size, ...shape, '--json'], {
      cwd: folder,
      env: { DATABASE_URL: await createDatabase('service'), LOG_LEVEL: 'info', METRICS_PORT: '0' },
    })
    closing.push(async () => {
      sandbox.kill('SIGKILL')
      await sandbox.ended
    })
    const access: SandboxAccess = JSON.parse((await sandbox.said(/^\{"url":.*"clientId".*\}$/m))[0])
    return {
      folder,
      access,
      databaseUrl: postgres.adminUrl,
      createDatabase,
      atClose: (step) => void closing.push(step),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The variables by which a command of vitalsync reaches the sandbox as upstream. */
export const upstreamSettings = (access: SandboxAccess, days: number): Record<string, string> => ({
  UPSTREAM_URL: access.url,
  UPSTREAM_CLIENT_ID: access.clientId,
  UPSTREAM_CLIENT_SECRET: access.clientSecret,
  TOKEN_KEY: Buffer.alloc(32, 3).toString('base64'),
  HISTORY_DAYS: String(days),
})
