import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'

/**
 * A Citus cluster on loopback: one coordinator without shards, and workers. It is made of a Postgres that has the extension,
 * whose programs lie in CITUS_BIN (/usr/lib/postgresql/15/bin where it is not set); docs/how-to/citus.md says how it is built.
 */
export type CitusNode = {
  readonly port: number
  /** The postmaster's, and undefined while it is away. */
  readonly pid: number | undefined
  /** SIGKILL for the postmaster, and so the end of every session. */
  kill(): Promise<void>
  /** SIGSTOP for the postmaster and every session: connections stay open and silent. `false` lets them go on. */
  freeze(isFrozen: boolean): void
  start(): Promise<void>
}

export type CitusCluster = {
  /** The coordinator's database, with the extension and all nodes, and otherwise empty. */
  readonly databaseUrl: string
  readonly coordinator: CitusNode
  readonly workers: readonly CitusNode[]
  /** Starts a further worker, and makes it known to the coordinator. */
  addWorker(): Promise<CitusNode>
  /** Creates an empty database with the extension on the coordinator and on `workers` workers, by default all. Returns its address. */
  createDatabase(name: string, workers?: number): Promise<string>
  dropDatabase(name: string): Promise<void>
  /** Copies a database on each node to one that nobody works in, to be cloned. Returns its addresses, the coordinator's first. */
  makeTemplate(name: string): Promise<string[]>
  /** Vacuums and analyzes a database on each node that has it. */
  vacuum(name: string): Promise<void>
  /** Autovacuum, of all servers. */
  setAutovacuum(value: 'on' | 'off'): Promise<void>
  /** The errors that the coordinator answered so far, each statement and message once. */
  listErrors(): Promise<ServerError[]>
  close(): Promise<void>
}

export type ServerError = {
  readonly sqlState: string
  readonly message: string
  readonly detail: string
  readonly statement: string
  readonly times: number
}

const START_TIMEOUT_MS = 120_000
const POLL_EVERY_MS = 50
const NOBODY_ID = 65534
const runAs = process.getuid?.() === 0 ? { uid: NOBODY_ID, gid: NOBODY_ID } : {}

const citusBin = (): string => process.env['CITUS_BIN'] ?? '/usr/lib/postgresql/15/bin'

/** Whether the Postgres of CITUS_BIN has the extension. */
export function hasCitus(): boolean {
  const { stdout, status } = spawnSync(join(citusBin(), 'pg_config'), ['--sharedir'], { encoding: 'utf8' })
  return status === 0 && existsSync(join(stdout.trim(), 'extension', 'citus.control'))
}

export async function startCitusCluster({ workers }: { readonly workers: number }): Promise<CitusCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-citus-'))
  await chmod(folder, 0o755)
  const nodes: Array<CitusNode & { stop(): Promise<void> }> = []
  const databases = new Set<string>()
  const close = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    await rm(folder, { recursive: true, force: true })
  }
  const addNode = async () => {
    const node = await createNode(join(folder, `node-${nodes.length}`))
    nodes.push(node)
    await node.start()
    return node
  }
  try {
    const coordinator = await addNode()
    const added: CitusNode[] = []
    const connectTo = (worker: CitusNode, database: string) =>
      runSql(urlOf(coordinator, database), `select citus_add_node('127.0.0.1', ${worker.port})`)
    const createDatabase = async (name: string, workers = added.length) => {
      const its = added.slice(0, workers)
      for (const node of [...its, coordinator]) await createDatabaseOn(node, name)
      await runSql(urlOf(coordinator, name), `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
      for (const worker of its) await connectTo(worker, name)
      databases.add(name)
      return urlOf(coordinator, name)
    }
    const dropDatabase = async (name: string) => {
      databases.delete(name)
      for (const node of [coordinator, ...added])
        await runSql(urlOf(node, 'postgres'), `drop database if exists ${name} with (force)`)
    }
    for (let index = 0; index < workers; index++) added.push(await addNode())
    return {
      databaseUrl: await createDatabase('vitalsync'),
      coordinator,
      workers: added,
      createDatabase,
      dropDatabase,
      async addWorker() {
        const worker = await addNode()
        for (const name of databases) {
          await createDatabaseOn(worker, name)
          await connectTo(worker, name)
        }
        added.push(worker)
        return worker
      },
      async makeTemplate(name) {
        const template = `${name}_template`
        for (const node of [coordinator, ...added]) await cloneDatabase(urlOf(node, 'postgres'), name, template)
        return [coordinator, ...added].map((node) => urlOf(node, template))
      },
      async vacuum(name) {
        for (const node of [coordinator, ...added]) {
          const client = new pg.Client({ connectionString: urlOf(node, 'postgres') })
          await client.connect()
          const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
          await client.end()
          if (rowCount === 1) await runSql(urlOf(node, name), 'vacuum analyze')
        }
      },
      async setAutovacuum(value) {
        for (const node of [coordinator, ...added])
          await runSql(urlOf(node, 'postgres'), `alter system set autovacuum = ${value}`, 'select pg_reload_conf()')
      },
      listErrors: () => readErrors(join(folder, 'node-0', 'log', 'server.json')),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const urlOf = ({ port }: CitusNode, database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`

async function createDatabaseOn(node: CitusNode, name: string): Promise<void> {
  await runSql(urlOf(node, 'postgres'), `create database ${name}`)
  await runSql(urlOf(node, name), 'create extension citus')
}

async function runSql(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const CLONE_TRIES = 20
const IN_USE = '55006'

/** Ends the sessions in the database. The maintenance daemon of Citus comes back after a moment: then another try is needed. */
async function cloneDatabase(url: string, from: string, to: string): Promise<void> {
  const leave = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}'`
  for (let tries = 1; ; tries++) {
    try {
      return await runSql(url, leave, `create database ${to} template ${from}`)
    } catch (error) {
      if (tries === CLONE_TRIES || !(error instanceof pg.DatabaseError) || error.code !== IN_USE) throw error
    }
  }
}

/** Nothing is kept: without fsync a power failure would damage the data. */
const settings: Readonly<Record<string, string>> = {
  shared_preload_libraries: 'citus',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  max_prepared_transactions: '300',
  max_worker_processes: '32',
  shared_buffers: '64MB',
  wal_level: 'logical',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  timezone: 'UTC',
  'citus.node_conninfo': 'sslmode=prefer',
  'citus.enable_statistics_collection': 'off',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_filename: 'server.log',
}

async function createNode(folder: string): Promise<CitusNode & { stop(): Promise<void> }> {
  const port = await freePort()
  const made = spawnSync(
    join(citusBin(), 'initdb'),
    ['-D', folder, '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--auth=trust', '--no-sync'],
    { ...(await ownedFolder(folder)), encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr || made.error?.message}`)
  let child: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child?.once('exit', resolve))
    child.kill(signal)
    await gone
  }
  return {
    port,
    get pid() {
      return child?.exitCode === null && child.signalCode === null ? child.pid : undefined
    },
    freeze(isFrozen) {
      if (!child?.pid) return
      // While the postmaster stands still no session begins, and the number of one that ended is still taken.
      if (isFrozen) process.kill(child.pid, 'SIGSTOP')
      for (const pid of childrenOf(child.pid)) process.kill(pid, isFrozen ? 'SIGSTOP' : 'SIGCONT')
      if (!isFrozen) process.kill(child.pid, 'SIGCONT')
    },
    async start() {
      const options = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ])
      child = spawn(join(citusBin(), 'postgres'), ['-D', folder, ...options], {
        ...runAs,
        stdio: 'ignore',
        detached: true,
      })
      await untilReady(`postgres://postgres@127.0.0.1:${port}/postgres`)
    },
    kill: () => end('SIGKILL'),
    stop: () => end('SIGQUIT'),
  }
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

/** The server refuses to run as root, and to use a folder that is not its own. */
async function ownedFolder(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (runAs.uid === undefined) return {}
  await mkdir(folder, { mode: 0o700 })
  await chown(folder, runAs.uid, runAs.gid)
  return runAs
}

async function untilReady(url: string): Promise<void> {
  for (const deadlineAt = Date.now() + START_TIMEOUT_MS; Date.now() < deadlineAt; await pause(POLL_EVERY_MS)) {
    const answered = await runSql(url, 'select 1').then(
      () => true,
      () => false,
    )
    if (answered) return
  }
  throw new Error(`start a Citus node: no answer at ${url}`)
}

const loggedSchema = z.object({
  error_severity: z.string(),
  state_code: z.string().default(''),
  message: z.string().default(''),
  detail: z.string().default(''),
  statement: z.string().default(''),
})

async function readErrors(file: string): Promise<ServerError[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const byText = new Map<string, ServerError>()
  for (const line of lines) {
    const { error_severity, state_code: sqlState, message, detail, statement } = loggedSchema.parse(JSON.parse(line))
    if (error_severity !== 'ERROR') continue
    const key = `${sqlState} ${message} ${statement}`
    byText.set(key, { sqlState, message, detail, statement, times: (byText.get(key)?.times ?? 0) + 1 })
  }
  return [...byText.values()]
}
