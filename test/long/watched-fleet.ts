import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../../src/engines/embedded-postgres.ts'
import { type Program, startProgram } from '../support/run-program.ts'

type FleetOptions = {
  readonly people: number
  readonly days: number
  readonly settings?: Readonly<Record<string, string>>
  /** Gives the address at which the pipeline finds the sandbox: something may stand between them. */
  readonly throughGateway?: (sandboxUrl: string) => Promise<string>
}

/** A sandbox as upstream, a warehouse with its people in it, and programs that work on them, each a process of its own. */
export async function openWatchedFleet({ people, days, settings = {}, throughGateway }: FleetOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-fleet-'))
  const closing: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const one of closing.toReversed()) await one().catch((error: Error) => console.error(error.message))
  }
  try {
    const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
    closing.push(() => postgres.close())
    const connect = async (database: string) => {
      const client = new pg.Client({ connectionString: postgres.adminUrl(database) })
      await client.connect()
      closing.push(() => client.end())
      return client
    }
    const admin = await connect('postgres')
    for (const name of ['service', 'warehouse']) await admin.query(`create database ${name}`)
    const programs = new Map<string, Program>()
    const begin = (name: string, words: readonly string[], env: Readonly<Record<string, string>>): Program => {
      const program = startProgram(words, { cwd: folder, env: { LOG_LEVEL: 'info', METRICS_PORT: '0', ...env } })
      programs.set(name, program)
      closing.push(async () => {
        program.kill('SIGKILL')
        await program.ended
      })
      return program
    }
    const shape = ['--profiles', String(people), '--days', String(days), '--json']
    const sandbox = begin('sandbox', ['sandbox', '--host', '127.0.0.1', '--port', '0', ...shape], {
      DATABASE_URL: postgres.adminUrl('service'),
    })
    const access: Access = JSON.parse((await sandbox.said(/^\{"url":.*"clientId".*\}$/m))[0])
    const env = {
      DATABASE_URL: postgres.adminUrl('warehouse'),
      UPSTREAM_URL: (await throughGateway?.(access.url)) ?? access.url,
      UPSTREAM_CLIENT_ID: access.clientId,
      UPSTREAM_CLIENT_SECRET: access.clientSecret,
      TOKEN_KEY: Buffer.alloc(32, 3).toString('base64'),
      HISTORY_DAYS: String(days),
      ...settings,
    }
    const command = (...words: string[]) => startProgram(words, { cwd: folder, env }).ended
    await command('migrate')
    await command('profiles', 'discover')
    return {
      folder,
      access,
      admin,
      warehouse: await connect('warehouse'),
      command,
      /** Resolves with the host and port of its metrics. */
      async start(name: 'worker' | 'schedule'): Promise<string> {
        const [, url = ''] = await begin(name, [name], env).said(/"url":"(http:[^"]+)","msg":"metrics/)
        return new URL(url).host
      },
      async kill(name: 'worker' | 'schedule'): Promise<void> {
        programs.get(name)?.kill('SIGKILL')
        await programs.get(name)?.ended
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** As the sandbox prints it. */
type Access = {
  readonly url: string
  readonly controlUrl: string
  readonly clientId: string
  readonly clientSecret: string
}

/** The scheduler makes up a nightly that was missed, at its start. */
export const missANightly = (warehouse: pg.Client) =>
  warehouse.query(
    "insert into vitalsync.slots (schedule, slot_at) values ('nightly', clock_timestamp() - interval '2 days')",
  )
