import pg from 'pg'
import { type Program, startProgram } from '../support/run-program.ts'
import { startLongSandbox, upstreamSettings } from './long-sandbox.ts'

type FleetOptions = {
  readonly people: number
  readonly days: number
  readonly settings?: Readonly<Record<string, string>>
  /** Gives the address at which the pipeline finds the sandbox: something may stand between them. */
  readonly throughGateway?: (sandboxUrl: string) => Promise<string>
}

/** A sandbox as upstream, a warehouse with its people in it, and programs that work on them, each a process of its own. */
export async function openWatchedFleet({ people, days, settings = {}, throughGateway }: FleetOptions) {
  const sandbox = await startLongSandbox({ people, days })
  const { folder, access, atClose, close } = sandbox
  try {
    const connect = async (database: string) => {
      const client = new pg.Client({ connectionString: sandbox.databaseUrl(database) })
      await client.connect()
      atClose(() => client.end())
      return client
    }
    const env = {
      ...upstreamSettings(access, days),
      DATABASE_URL: await sandbox.createDatabase('warehouse'),
      UPSTREAM_URL: (await throughGateway?.(access.url)) ?? access.url,
      ...settings,
    }
    const command = (...words: string[]) => startProgram(words, { cwd: folder, env }).ended
    await command('migrate')
    await command('profiles', 'discover')
    const programs = new Map<string, Program>()
    const kill = async (name: 'worker' | 'schedule') => {
      programs.get(name)?.kill('SIGKILL')
      await programs.get(name)?.ended
    }
    return {
      folder,
      access,
      admin: await connect('postgres'),
      warehouse: await connect('warehouse'),
      command,
      /** Resolves with the host and port of its metrics. */
      async start(name: 'worker' | 'schedule'): Promise<string> {
        const program = startProgram([name], { cwd: folder, env: { LOG_LEVEL: 'info', METRICS_PORT: '0', ...env } })
        programs.set(name, program)
        atClose(async () => {
          program.kill('SIGKILL')
          await program.ended
        })
        const [, url = ''] = await program.said(/"url":"(http:[^"]+)","msg":"metrics/)
        return new URL(url).host
      },
      kill,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The scheduler makes up a nightly that was missed, at its start. */
export const missANightly = (warehouse: pg.Client) =>
  warehouse.query(
    "insert into vitalsync.slots (schedule, slot_at) values ('nightly', clock_timestamp() - interval '2 days')",
  )
