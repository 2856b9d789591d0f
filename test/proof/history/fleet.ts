import { spawn } from 'node:child_process'
import { appendFileSync, closeSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entry } from '../../support/run-program.ts'
import { type SilentProxy, startSilentProxy } from '../../support/silent-proxy.ts'
import type { JumpingClock } from './jumping-clock.ts'
import { STARTING, type Supervised, supervise } from './supervised.ts'

export type Edge = 'database' | 'queue'

/** One process of the fleet with a network of its own to each of its engines. */
export type Member = {
  readonly process: Supervised
  readonly edges: Readonly<Partial<Record<Edge, SilentProxy>>>
  readonly clock: JumpingClock | undefined
  readonly logFile: string
}

export type Fleet = { readonly members: readonly Member[]; close(): Promise<void> }

type Environment = Readonly<Record<string, string>>

type Servers = { readonly databaseUrl: string; readonly queueUrl: string; readonly serviceDatabaseUrl: string }

type FleetOptions = {
  readonly folder: string
  readonly servers: Servers
  /** The settings of each worker and scheduler, but for the addresses. */
  readonly settings: Environment
  /** The way to the service, which all share. */
  readonly upstreamUrl: string
  readonly clockOf: ((name: string) => JumpingClock) | undefined
}

const workerProgram = fileURLToPath(new URL('../../chaos/worker-child.ts', import.meta.url))
const cache = fileURLToPath(new URL('../../../node_modules/.cache/vitalsync', import.meta.url))
/** Shorter than in production, so that a run of minutes sees jobs change hands often. */
const LEASE_MS = 2000

const workers = ['worker-1', 'worker-2', 'worker-3']
const schedulers = ['scheduler-1', 'scheduler-2']

/** Starts three workers and two schedulers. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const members: Member[] = []
  for (const name of workers) members.push(await startMember(options, name, options.clockOf?.(name)))
  for (const name of schedulers) members.push(await startMember(options, name, undefined))
  return {
    members,
    close: async () => void (await Promise.all(members.map(closeMember))),
  }
}

async function startMember(
  { folder, servers, settings, upstreamUrl }: FleetOptions,
  name: string,
  clock: JumpingClock | undefined,
): Promise<Member> {
  const edges = {
    database: await startSilentProxy(servers.databaseUrl),
    queue: await startSilentProxy(servers.queueUrl),
  }
  const { database, queue } = edges
  const env = { ...settings, DATABASE_URL: database.url, QUEUE_URL: queue.url, UPSTREAM_URL: upstreamUrl }
  const isWorker = workers.includes(name)
  const words = isWorker ? [workerProgram, JSON.stringify(env), String(LEASE_MS)] : [entry, 'schedule']
  const logFile = join(folder, `${name}.log`)
  const start = () => startLogged(words, { logFile, env: { ...(isWorker ? {} : env), ...clock?.env } })
  return { process: supervise(name, start), edges, clock, logFile }
}

async function closeMember({ process, edges }: Member): Promise<void> {
  await process.close()
  await Promise.all(Object.values(edges).map((edge) => edge.close()))
}

/** The keys of the service follow from it. */
export const SANDBOX_SECRET = 'secret of a history'

type ServiceOptions = Pick<FleetOptions, 'folder' | 'servers'> & {
  readonly port: number
  readonly seed: string
  readonly people: number
}

/** Starts the Profile Service as a sandbox. It is a member like the others, but no process of the pipeline. */
export async function startServiceMember(options: ServiceOptions): Promise<Member & { close(): Promise<void> }> {
  const { folder, servers, port, seed, people } = options
  const database = await startSilentProxy(servers.serviceDatabaseUrl)
  const words = ['--port', String(port), '--days', '3', '--seed', seed, '--json']
  const logFile = join(folder, 'service.log')
  const env = { DATABASE_URL: database.url, SANDBOX_SECRET, LOG_LEVEL: 'warn', DERIVE_THREADS: '1' }
  // A sandbox stores the people that are missing when it starts: started again with its people, it would bring the erased back.
  let missing = people
  const start = () => {
    const child = startLogged([entry, 'sandbox', ...words, '--profiles', String(missing)], { logFile, env })
    missing = 0
    return child
  }
  const member = { process: supervise('service', start), edges: { database }, clock: undefined, logFile }
  return { ...member, close: () => closeMember(member) }
}

/** The process gets nothing of this one's environment. */
function startLogged(words: readonly string[], { logFile, env }: { logFile: string; env: Environment }) {
  appendFileSync(logFile, STARTING)
  const log = openSync(logFile, 'a')
  const home = dirname(logFile)
  const base = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home, VITALSYNC_HOME: home, NODE_COMPILE_CACHE: cache }
  const child = spawn(process.execPath, [...words], { env: { ...base, ...env }, stdio: ['ignore', log, log] })
  closeSync(log)
  return child
}
