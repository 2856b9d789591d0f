import { type Program, type ProgramEnd, startProgram } from '../support/run-program.ts'
import { startLongSandbox, upstreamSettings } from './long-sandbox.ts'

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
  concurrency = 32,
}: {
  readonly people: number
  readonly days: number
  readonly concurrency?: number
}): Promise<SandboxWarehouses> {
  const { folder, access, createDatabase, close } = await startLongSandbox({ people, days, shape: ['--seed', '1'] })
  return {
    folder,
    createDatabase,
    async open(name, { url, shards }) {
      const env = {
        ...upstreamSettings(access, days),
        DATABASE_URL: url,
        QUEUE_URL: await createDatabase(`queue_${name}`),
        WAREHOUSE_SHARDS: String(shards),
        CONCURRENCY: String(concurrency),
      }
      const start = (...words: string[]) => startProgram(words, { cwd: folder, env })
      return { name, databaseUrl: url, start, command: (...words) => start(...words).ended }
    },
    close,
  }
}
