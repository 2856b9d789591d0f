import { once } from 'node:events'
import { join } from 'node:path'
import type { Config } from '../../config/env.ts'
import { startLocalEngines } from '../engines/local.ts'
import type { Log } from '../log.ts'
import { parseFault } from '../service/sandbox/faults/rules.ts'
import { type Sandbox, startSandbox } from '../service/sandbox/sandbox.ts'
import type { Stored } from '../service/sandbox/seeding.ts'
import { openClosing } from './closing.ts'
import { number, type Terminal } from './terminal.ts'

export type SandboxCommand = {
  readonly config: Config
  readonly terminal: Terminal
  readonly log: Log
  /** Absent: PORT. 0 takes a free one. */
  readonly port: number | undefined
  readonly host: string
  readonly profiles: number
  readonly days: number
  readonly seed: string
  /** As on the command line: `name=rate`, with more after commas. */
  readonly faults: readonly string[]
  /** Aborted when the sandbox is to stop. */
  readonly signal: AbortSignal
}

/** So many are worth a word while they are stored; fewer are there before one could be read. */
const crowd = 50

/**
 * Runs a sandbox until told to stop, on DATABASE_URL or on a Postgres of its own. With `--json` exactly one line is
 * printed, when the sandbox is ready to answer. Stopped while it is still storing people, it goes on with them at the
 * next start.
 */
export async function runSandbox(command: SandboxCommand): Promise<number> {
  const { config, terminal, log, host, profiles, days, seed, signal } = command
  const faults = command.faults.map(parseFault)
  const closing = openClosing()
  try {
    const databaseUrl = config.databaseUrl ?? (await startOwn(command, closing))
    const port = command.port ?? config.port
    const onProgress = ({ people, of, logs }: Stored) => {
      if (of < crowd) return
      terminal.progress(`storing people: ${number(people)} of ${number(of)}, ${number(logs)} logs`)
    }
    const started = startSandbox({ databaseUrl, port, host, profiles, days, seed, log, faults, signal, onProgress })
    const sandbox = closing.add(await started, 'sandbox')
    terminal.progressEnd()
    if (terminal.json) terminal.printJson(credentialsOf(sandbox))
    else terminal.print(welcome(sandbox, command))
    if (!signal.aborted) await once(signal, 'abort')
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await closing.close()
  }
  return 0
}

async function startOwn({ config }: SandboxCommand, closing: ReturnType<typeof openClosing>): Promise<string> {
  const engines = await startLocalEngines(join(config.dataFolder, 'sandbox'))
  return closing.add(engines, 'Postgres').serviceUrl
}

function credentialsOf({ url, clientId, clientSecret, appId, appSecret, controlUrl }: Sandbox) {
  return { url, clientId, clientSecret, appId, appSecret, controlUrl }
}

function welcome(sandbox: Sandbox, { config, profiles, seed, faults }: SandboxCommand): string {
  const lines = {
    'Profile Service (sandbox)': sandbox.url,
    reference: `${sandbox.url}/docs`,
    control: sandbox.controlUrl,
    clientId: sandbox.clientId,
    clientSecret: sandbox.clientSecret,
    appId: sandbox.appId,
    appSecret: sandbox.appSecret,
    people: `${profiles} sample profiles of seed ${seed}`,
    faults: faults.length > 0 ? faults.join(' ') : 'none',
    data: config.databaseUrl ? 'DATABASE_URL, schema service' : join(config.dataFolder, 'sandbox'),
  }
  const rows = Object.entries(lines).map(([name, value]) => `${name.padEnd(27)}${value}`)
  return `${rows.join('\n')}\nCtrl-C stops it; its data stays.`
}
