import { join } from 'node:path'
import type { CloseStack } from '../base/close-stack.ts'
import { portOf, readKeptPort } from '../base/engines/kept-port.ts'
import { joinLocalEngines, type LocalEngines, startLocalEngines } from '../base/engines/local-engines.ts'
import { readRunning } from '../base/engines/running-file.ts'
import { dataFolderHint } from '../base/files/data-folder.ts'
import { readPrivateFile, replacePrivateFile } from '../base/files/private-file.ts'
import { withConnection } from '../base/postgres/short-connection.ts'
import { formatNumber } from '../base/text/readable.ts'
import { MINUTE } from '../base/time/units.ts'
import { type EngineAddresses, requireTokenKey, resolveAddresses, resolveDatabases } from '../operations/addresses.ts'
import type { Sandbox, SandboxOptions } from '../service/start-sandbox.ts'
import { sandboxDefaults } from './sandbox-defaults.ts'
import { sandboxSecretOf } from './sandbox-secret.ts'
import type { CommandContext } from './terminal/command-context.ts'

export type StartedEngines = {
  readonly addresses: EngineAddresses
  readonly local: LocalEngines | undefined
  readonly sandbox: Sandbox | undefined
}

/** How many people a new sandbox has, and for how many past days each of them has logs. */
type SampleSize = { readonly profiles: number; readonly days: number }
export type SampleOptions = Partial<SampleSize>

type StartParts = {
  readonly sample: SampleOptions
  /** Called, once or more, when Postgres is starting and this process only waits. */
  readonly meanwhile: () => void
  /** Called when the databases are there. The sandbox stores its people at the same time. */
  readonly prepareWarehouse: (databases: ReturnType<typeof resolveDatabases>) => Promise<unknown>
}

/** Starts every engine that has no given address, for a process that stays. */
export async function startEngines(
  context: CommandContext,
  { sample: given, meanwhile, prepareWarehouse }: StartParts,
  closeStack: CloseStack,
): Promise<StartedEngines> {
  const { config, terminal, signal } = context
  requireTokenKey(config)
  const tick = terminal.paintRemark('good', '✓')
  const needsLocal = !config.databaseUrl || !config.upstream
  if (needsLocal) terminal.progress('  starting Postgres …')
  const load = () => {
    meanwhile()
    if (!config.upstream) void loadSandbox().catch(() => undefined) // fails again where it is awaited
  }
  const local = needsLocal
    ? closeStack.add(
        await startLocalEngines(config.dataFolder, { slow: terminal.say, meanwhile: load, signal }),
        'Postgres',
      )
    : undefined
  if (local) terminal.say(`  ${tick} Postgres is running`)
  if (local?.moved) {
    terminal.say(`    It runs as the user nobody, who may not enter this folder: its files are in ${local.dataFolder}`)
  }
  const sample = { ...(await readSampleSize(config.dataFolder, local)), ...given }
  if (!config.upstream)
    terminal.progress(
      `  starting the Profile Service${sample.profiles > 0 ? '; the first start stores the logs of its sample people' : ''} …`,
    )
  const explained = async <T>(work: Promise<T>): Promise<T> =>
    work.catch(async (error: unknown) => {
      throw local ? await local.faultOf(error) : error
    })
  const preparing = explained(prepareWarehouse(resolveDatabases(config, local)))
  const starting =
    config.upstream || !local ? undefined : explained(startLocalSandbox({ ...context, local, sample }, closeStack))
  await Promise.allSettled([preparing, starting]) // nothing is left at work when one of them fails
  await preparing
  const sandbox = await starting
  if (sandbox)
    terminal.say(
      `  ${tick} Profile Service is running, with ${formatNumber(sample.profiles)} sample people, at ${sandbox.url}`,
    )
  return {
    local,
    sandbox,
    addresses: resolveAddresses(config, local, config.upstream ?? (sandbox && upstreamOf(sandbox))),
  }
}

/** For a command that ends soon: joins the engines that run already and starts the others. */
export async function joinEngines(context: CommandContext, closeStack: CloseStack): Promise<StartedEngines> {
  const { config } = context
  const needsLocal = !config.databaseUrl || !config.upstream
  const local = needsLocal ? await joinPostgres(context, closeStack) : undefined
  const running = await upstreamThatRuns(config)
  const sample = await readSampleSize(config.dataFolder, local)
  const sandbox = running || !local ? undefined : await startLocalSandbox({ ...context, local, sample }, closeStack)
  return { local, sandbox, addresses: resolveAddresses(config, local, running ?? (sandbox && upstreamOf(sandbox))) }
}

/** The Postgres of the data folder. A command that only looks must not make a database in silence. */
export async function joinPostgres(
  { config, terminal, signal }: CommandContext,
  closeStack: CloseStack,
): Promise<LocalEngines> {
  const { dataFolder } = config
  const making = () =>
    terminal.say(`DATABASE_URL is not set, and there is no data yet: making a Postgres in ${dataFolder} …`)
  return closeStack.add(await joinLocalEngines(dataFolder, { slow: terminal.say, making, signal }), 'Postgres')
}

/** The whole service: most commands never need it, and it is half of what they would load. */
const loadSandbox = () => import('../service/start-sandbox.ts')

type LocalSandboxOptions = CommandContext & { local: LocalEngines; sample: SampleSize }

async function startLocalSandbox(options: LocalSandboxOptions, closeStack: CloseStack): Promise<Sandbox> {
  const { local, config, sample, log, terminal } = options
  await replacePrivateFile(sampleSizeFile(config.dataFolder), `${sample.profiles} ${sample.days}`)
  const secret = await sandboxSecretOf(config, config.dataFolder)
  const { startSandbox } = await loadSandbox()
  const start = (port: SandboxOptions['port']) =>
    startSandbox({
      databaseUrl: local.serviceUrl,
      port,
      ...sample,
      seed: sandboxDefaults.seed,
      secret,
      names: config.sandboxNames,
      log,
      console: { passwordFile: config.consolePasswordFile, trustedProxies: config.trustedProxies },
    })
  const sandbox = await startAtKeptPort(config.dataFolder, { config, terminal }, start)
  return closeStack.add(sandbox, 'Profile Service')
}

/** At PORT; without it at the port of the last start, so that an address that was written down still works. */
export async function startAtKeptPort(
  folder: string,
  { config, terminal }: Pick<CommandContext, 'config' | 'terminal'>,
  start: (port: SandboxOptions['port']) => Promise<Sandbox>,
): Promise<Sandbox> {
  if (config.port !== 0) return start(config.port)
  const kept = await readKeptPort(folder, 'service-port')
  const sandbox = await start(kept.candidates)
  const port = portOf(sandbox.url)
  const takenPort = await kept.keep(port)
  if (takenPort !== undefined)
    terminal.say(`    Port ${takenPort} of the last start is taken: the Profile Service is at ${port} now`)
  return sandbox
}

const upstreamOf = ({ url, clientId, clientSecret }: Sandbox): EngineAddresses['upstream'] => ({
  url,
  clientId,
  clientSecret,
})

/** The Profile Service that can be asked without starting one. */
export const upstreamThatRuns = async ({ upstream, dataFolder }: CommandContext['config']) =>
  upstream ?? (await runningUpstream(dataFolder))

/** The address of the sandbox that `vitalsync up` runs in the folder. */
async function runningUpstream(folder: string): Promise<EngineAddresses['upstream'] | undefined> {
  const running = await readRunning(folder)
  if (!running) return undefined
  const { url, clientId, clientSecret } = running.upstream
  return { url, clientId, clientSecret }
}

const sampleSizeFile = (folder: string) => join(folder, 'sandbox-people')

/**
 * The numbers with which the folder's sandbox was last started: no sample people come to a folder that has people of its own, and a
 * command adds none.
 */
async function readSampleSize(folder: string, local: LocalEngines | undefined): Promise<SampleSize> {
  const text = (await readPrivateFile(sampleSizeFile(folder), dataFolderHint)) ?? ''
  const [, profiles, days = sandboxDefaults.days] = /^(\d{1,9})(?: (\d{1,9}))?$/.exec(text) ?? []
  const isTaken = profiles === undefined && local !== undefined && (await hasPeople(local))
  return { profiles: Number(profiles ?? (isTaken ? 0 : sandboxDefaults.profiles)), days: Number(days) }
}

async function hasPeople({ databaseUrl }: LocalEngines): Promise<boolean> {
  const connection = { connectionString: databaseUrl, connectMaxMs: MINUTE, answerMaxMs: MINUTE }
  return withConnection(connection, async (client) => {
    const tables = await client.query(`select where to_regclass('vitalsync.names') is not null`)
    return tables.rowCount === 1 && (await client.query('select from vitalsync.names limit 1')).rowCount === 1
  })
}
