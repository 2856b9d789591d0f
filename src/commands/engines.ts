import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/env.ts'
import { holderOf } from '../engines/folder-lock.ts'
import { joinLocalEngines, type LocalEngines, startLocalEngines } from '../engines/local.ts'
import { readRunning } from '../engines/running.ts'
import { UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Sandbox, startSandbox } from '../service/sandbox/sandbox.ts'
import { requireMigrated } from '../warehouse/migrated.ts'
import { openPool, type Pool } from '../warehouse/pool.ts'
import type { Closing } from './closing.ts'
import { migrateWarehouse } from './migrate.ts'
import type { Addresses } from './pipeline.ts'
import { sandboxDefaults } from './sandbox-defaults.ts'
import { number, type Terminal } from './terminal.ts'

/** What every command is given. */
export type CommandContext = {
  readonly config: Config
  readonly terminal: Terminal
  readonly log: Log
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
}

export type Engines = {
  readonly addresses: Addresses
  readonly local: LocalEngines | undefined
  readonly sandbox: Sandbox | undefined
}

/** Starts what no address is given for, for a process that stays. */
export async function startEngines(context: CommandContext & { profiles: number }, closing: Closing): Promise<Engines> {
  const { config, terminal, profiles } = context
  const tokenKeyMissing = config.databaseUrl !== undefined && config.tokenKey === undefined
  if (tokenKeyMissing) needTokenKey()
  const tick = terminal.paintSaid('good', '✓')
  const needsLocal = !config.databaseUrl || !config.upstream
  if (needsLocal) terminal.progress('  starting Postgres …')
  const local = needsLocal ? closing.add(await startLocalEngines(config.dataFolder), 'Postgres') : undefined
  if (local) terminal.say(`  ${tick} Postgres is running`)
  if (local?.moved) {
    terminal.say(`    It runs as the user nobody, who may not enter this folder: its files are in ${local.dataFolder}`)
  }
  if (!config.upstream)
    terminal.progress('  starting the Profile Service; a first start writes down its people’s lives …')
  const sandbox = config.upstream || !local ? undefined : await startPeople({ ...context, local, profiles }, closing)
  if (sandbox)
    terminal.say(`  ${tick} Profile Service is running, with ${number(profiles)} sample people, at ${sandbox.url}`)
  return {
    local,
    sandbox,
    addresses: addressesFrom(config, local, config.upstream ?? (sandbox && upstreamOf(sandbox))),
  }
}

/** For a command that comes and goes: joins what runs, starts what does not, with the warehouse brought up to date. */
export async function joinEngines(context: CommandContext, closing: Closing): Promise<Engines> {
  const { config } = context
  const needsLocal = !config.databaseUrl || !config.upstream
  const local = needsLocal ? closing.add(await joinLocalEngines(config.dataFolder), 'Postgres') : undefined
  const there = config.upstream ?? (await runningUpstream(config.dataFolder))
  const profiles = await peopleIn(config.dataFolder)
  const sandbox = there || !local ? undefined : await startPeople({ ...context, local, profiles }, closing)
  const addresses = addressesFrom(config, local, there ?? (sandbox && upstreamOf(sandbox)))
  await prepare(config, addresses.databaseUrl)
  return { local, sandbox, addresses }
}

/** Only warehouse and queue, for commands that ask nothing of upstream. */
export async function joinWarehouse(
  { config }: CommandContext,
  closing: Closing,
): Promise<{ pool: Pool; queueUrl: string }> {
  const local = config.databaseUrl ? undefined : closing.add(await joinLocalEngines(config.dataFolder), 'Postgres')
  const databaseUrl = config.databaseUrl ?? local?.databaseUrl ?? ''
  await prepare(config, databaseUrl)
  const pool = openPool({ databaseUrl, connectionsMax: 4, name: 'vitalsync command' })
  closing.add({ close: () => pool.end() }, 'pool')
  return { pool, queueUrl: config.queueUrl ?? local?.queueUrl ?? databaseUrl }
}

/** The embedded warehouse is ours to migrate; a given one is migrated by whoever runs `vitalsync migrate`. */
async function prepare(config: Config, databaseUrl: string): Promise<void> {
  if (!config.databaseUrl) return void (await migrateWarehouse(databaseUrl))
  await requireMigrated(databaseUrl)
}

function addressesFrom(
  config: Config,
  local: LocalEngines | undefined,
  upstream: Addresses['upstream'] | undefined,
): Addresses {
  const databaseUrl = config.databaseUrl ?? local?.databaseUrl
  if (!databaseUrl || !upstream) throw new Error('find engines: neither given nor started')
  return {
    databaseUrl,
    queueUrl: config.queueUrl ?? (config.databaseUrl ? databaseUrl : (local?.queueUrl ?? databaseUrl)),
    upstream,
    tokenKey: config.tokenKey ?? local?.tokenKey ?? needTokenKey(),
  }
}

function needTokenKey(): never {
  throw new UsageProblem('read configuration: TOKEN_KEY is not set', {
    hint: 'Tokens in a database of your own are encrypted with it: openssl rand -base64 32.',
  })
}

type PeopleOptions = CommandContext & { local: LocalEngines; profiles: number }

async function startPeople(options: PeopleOptions, closing: Closing): Promise<Sandbox> {
  const { local, config, profiles, log } = options
  await writeFile(peopleFile(config.dataFolder), String(profiles))
  const started = startSandbox({
    databaseUrl: local.serviceUrl,
    port: config.port,
    profiles,
    seed: 'vitalsync',
    log,
  })
  return closing.add(await started, 'Profile Service')
}

const upstreamOf = ({ url, clientId, clientSecret, appId, appSecret }: Sandbox): Addresses['upstream'] => ({
  url,
  clientId,
  clientSecret,
  appId,
  appSecret,
})

/** The sandbox of an `up` that runs in the folder. */
async function runningUpstream(folder: string): Promise<Addresses['upstream'] | undefined> {
  const running = await readRunning(folder)
  if (!running || running.pid !== (await holderOf(folder))) return undefined
  const { url, clientId, clientSecret, appId, appSecret } = running.upstream
  return { url, clientId, clientSecret, appId, appSecret }
}

const peopleFile = (folder: string) => join(folder, 'sandbox-people')

/** How many people the folder's sandbox was last started with: a command must not add any. */
async function peopleIn(folder: string): Promise<number> {
  const text = await readFile(peopleFile(folder), 'utf8').catch(() => '')
  return /^\d{1,9}$/.test(text) ? Number(text) : sandboxDefaults.profiles
}
