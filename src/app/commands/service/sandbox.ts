import { type CloseStack, openCloseStack } from '../../../base/close-stack.ts'
import { startLocalEngines } from '../../../base/engines/local-engines.ts'
import { openOtlp } from '../../../base/monitoring/open-otlp.ts'
import { formatNumber } from '../../../base/text/readable.ts'
import { untilAborted } from '../../../operations/processes/repeat.ts'
import { parseFaultRule, plainRules } from '../../../service/sandbox/faults/fault-rules.ts'
import type { SeedProgress } from '../../../service/sandbox/seeding.ts'
import { type Sandbox, type SandboxOptions as StartOptions, startSandbox } from '../../../service/start-sandbox.ts'
import { startAtKeptPort } from '../../join-engines.ts'
import { sandboxSecretOf, writeSandboxCredentials } from '../../sandbox-secret.ts'
import { sandboxFolderOf } from '../../service-database.ts'
import type { CommandContext } from '../../terminal/command-context.ts'

type SandboxOptions = {
  /** Absent: PORT. 0 takes a free one. */
  readonly port?: number
  readonly host: string
  readonly profiles: number
  readonly days: number
  readonly seed: string
  /** As on the command line: `name=rate`, with more after commas. */
  readonly fault: readonly string[]
  readonly plain: boolean
}

/** Progress is printed from this many profiles on; fewer are stored before a line could be read. */
const PROGRESS_SHOWN_FROM = 50

/**
 * Runs a sandbox until it is stopped, on DATABASE_URL or on an embedded Postgres of its own. With `--json` exactly one line
 * is printed, when the sandbox answers requests. A sandbox that is stopped while it stores its people stores the rest of
 * them at the next start.
 */
export async function runSandbox(context: CommandContext, options: SandboxOptions): Promise<void> {
  const { config, terminal, log, signal } = context
  const { host, profiles, days, seed } = options
  const faults = [...(options.plain ? plainRules : []), ...options.fault.map(parseFaultRule)]
  const closeStack = openCloseStack()
  try {
    const otlp = await openOtlp(config.otlp, { name: 'vitalsync-sandbox', log })
    if (otlp) closeStack.add(otlp, 'traces')
    const databaseUrl = config.databaseUrl ?? (await startOwnPostgres(context, closeStack))
    const onProgress = ({ people, total, logs }: SeedProgress) => {
      if (total < PROGRESS_SHOWN_FROM) return
      terminal.progress(`storing people: ${formatNumber(people)} of ${formatNumber(total)}, ${formatNumber(logs)} logs`)
    }
    const secret = await sandboxSecretOf(config, sandboxFolderOf(config))
    const { sandboxNames: names } = config
    const settings = { databaseUrl, host, names, profiles, days, seed, secret, log, faults, signal, onProgress }
    const console = { passwordFile: config.consolePasswordFile, trustedProxies: config.trustedProxies }
    const start = (port: StartOptions['port']) => startSandbox({ ...settings, port, otlp, console })
    const sandbox = closeStack.add(await startAtChosenPort(context, options.port, start), 'sandbox')
    terminal.progressEnd()
    if (terminal.json) terminal.printJson('sandbox', credentialsOf(sandbox))
    else terminal.print(await readyText(sandbox, context, options))
    await untilAborted(signal)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await closeStack.close()
  }
}

async function startOwnPostgres({ config, terminal, signal }: CommandContext, closeStack: CloseStack): Promise<string> {
  const engines = await startLocalEngines(sandboxFolderOf(config), { slow: terminal.say, signal })
  return closeStack.add(engines, 'Postgres').serviceUrl
}

/** Beside its own Postgres a sandbox keeps its port. */
async function startAtChosenPort(
  context: CommandContext,
  port: number | undefined,
  start: (port: StartOptions['port']) => Promise<Sandbox>,
): Promise<Sandbox> {
  const { config } = context
  if (port !== undefined) return start(port)
  if (config.databaseUrl) return start(config.port)
  return startAtKeptPort(sandboxFolderOf(config), context, start)
}

function credentialsOf({ url, clientId, clientSecret, appId, appSecret, controlUrl, controlToken }: Sandbox) {
  return { url, clientId, clientSecret, appId, appSecret, controlUrl, controlToken }
}

async function readyText(
  sandbox: Sandbox,
  { config, terminal }: CommandContext,
  { profiles, seed, fault, plain }: SandboxOptions,
): Promise<string> {
  const folder = sandboxFolderOf(config)
  const secrets = config.sandboxSecret
    ? 'follow from SANDBOX_SECRET; --json prints them'
    : `in ${await writeSandboxCredentials(folder, sandbox)}`
  const { clientSecret, appSecret, controlToken } = sandbox
  const lines = {
    'Profile Service (sandbox)': sandbox.url,
    console: sandbox.consoleUrl,
    reference: `${sandbox.url}/docs`,
    control: sandbox.controlUrl,
    clientId: sandbox.clientId,
    appId: sandbox.appId,
    ...(terminal.printsToTerminal && { clientSecret, appSecret, controlToken }),
    secrets,
    people: `${profiles} sample profiles of seed ${seed}`,
    faults: [...(plain ? ['--plain'] : []), ...fault].join(' ') || 'none',
    data: config.databaseUrl ? 'DATABASE_URL, schema service' : sandboxFolderOf(config),
  }
  const rows = Object.entries(lines).map(([name, value]) => `${name.padEnd(27)}${value}`)
  return `${rows.join('\n')}\nCtrl-C stops it; its data stays.`
}
