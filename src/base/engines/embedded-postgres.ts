import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { Problem, UsageProblem } from '../errors.ts'
import { dataFolderHint, makeDataFolder } from '../files/data-folder.ts'
import { readOrDrawSecret } from '../files/private-file.ts'
import { endConnection } from '../postgres/short-connection.ts'
import { sleep } from '../sleep.ts'
import { runProgram, stopProcess } from './bounded-process.ts'
import { stopFormerServer } from './former-server.ts'
import { readKeptPort } from './kept-port.ts'
import { chooseLocation, exists, findBinaries, type PostgresLocation } from './postgres-location.ts'

type EmbeddedPostgresOptions = {
  folder: string
  /** For tests only: fast, unsafe on power loss, and `close` deletes the data. */
  throwAway?: boolean
  connectionsMax?: number
  /** Called when a program of Postgres is at work, and this process only waits. */
  meanwhile?: (() => void) | undefined
  signal?: AbortSignal | undefined
}

/** As long as the server's process lives it is making progress: recovering its data may take minutes. */
const START_TIMEOUT_MS = 10 * 60_000
const STOP_TIMEOUT_MS = 30_000
const QUIT_TIMEOUT_MS = 5000
const POLL_EVERY_MS = 25
const LOG_CHARS_MAX = 4000
const WRONG_PASSWORD = '28P01'
/** The system chooses a port; Postgres itself cannot. */
const ANY_PORT_AGAIN = [0, 0, 0]
const DRAFT_PREFIX = 'postgres.new-'

/** Starts a Postgres server in `folder`; the first start creates its data. The server listens on loopback only. */
export async function startPostgres(options: EmbeddedPostgresOptions) {
  await makeDataFolder(options.folder)
  const location = await chooseLocation(options.folder, await findBinaries())
  const password = await readOrMakePassword(options.folder)
  await stopFormerServer(location.dataFolder, STOP_TIMEOUT_MS)
  if (!(await exists(join(location.dataFolder, 'PG_VERSION')))) await createCluster(location, password, options)
  const urlOn = (port: number, database: string) =>
    `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`
  const { port, child, log } = await startAtKeptPort(location, options, (port) => urlOn(port, 'postgres'))
  return {
    port,
    /** The address of a database, for the cluster's superuser. */
    adminUrl: (database: string) => urlOn(port, database),
    /** The folder of the data: in the given folder, or in /var/lib where root's folder is closed to other users. */
    dataFolder: location.dataFolder,
    moved: location.moved,
    /** The error itself, or a full disk as its cause: by the last words of the server, or by the space that is left. */
    async faultOf(error: unknown) {
      if (error instanceof UsageProblem) return error
      return isDiskFull(log()) || (await isNearlyFull(location.dataFolder)) ? diskFullProblem(error) : error
    },
    /** Stops the server; resolves when the server has written all data to the disk. */
    async close() {
      await stopServer(child)
      if (options.throwAway) await rm(location.dataFolder, { recursive: true, force: true })
    },
  }
}

async function readOrMakePassword(folder: string): Promise<string> {
  const draw = () => randomBytes(24).toString('base64url')
  return readOrDrawSecret(join(folder, 'postgres-password'), draw, dataFolderHint)
}

/** Creates the cluster in a draft folder and renames it when it is complete: a killed start leaves no half cluster. */
async function createCluster(
  location: PostgresLocation,
  password: string,
  options: EmbeddedPostgresOptions,
): Promise<void> {
  const home = dirname(location.dataFolder)
  const oldDrafts = (await readdir(home)).filter((name) => name.startsWith(DRAFT_PREFIX))
  // The Postgres of a killed start may still write into its draft: it ends as soon as it misses a file.
  const removing = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }
  for (const name of oldDrafts) await rm(join(home, name), removing)
  const draft = join(home, `${DRAFT_PREFIX}${process.pid}`)
  const passwordFile = join(home, `${DRAFT_PREFIX}${process.pid}.pw`)
  try {
    await mkdir(draft, { mode: 0o700 })
    await writeFile(passwordFile, password, { mode: 0o600, flag: 'wx' })
    if (location.runAs !== undefined) {
      await chown(draft, location.runAs, location.runAs)
      await chown(passwordFile, location.runAs, location.runAs)
    }
    const words = ['-D', draft, '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--auth=scram-sha-256']
    if (options.throwAway) words.push('--no-sync')
    const made = runInitdb(location.binaries.initdb, [...words, `--pwfile=${passwordFile}`], location)
    options.meanwhile?.()
    await made
    await rm(location.dataFolder, { recursive: true, force: true })
    await rename(draft, location.dataFolder)
  } finally {
    await rm(draft, { recursive: true, force: true })
    await rm(passwordFile, { force: true })
  }
}

async function runInitdb(program: string, words: readonly string[], location: PostgresLocation): Promise<void> {
  const options = { ...runAsIdentity(location), env: cleanEnvironment(), timeoutMs: START_TIMEOUT_MS }
  const { code, output } = await runProgram(program, words, options)
  if (code === null)
    throw startProblem(`${output}\ninitdb did not end within ${START_TIMEOUT_MS / 1000} s, or was killed`)
  if (code !== 0) throw startProblem(output)
}

const runAsIdentity = (location: PostgresLocation) =>
  location.runAs === undefined ? {} : { uid: location.runAs, gid: location.runAs }

/** An empty environment: PG* variables of the user's shell must not change the embedded server. */
const cleanEnvironment = (): NodeJS.ProcessEnv => ({ PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' })

/** Another program may take a free port before the server listens there: the next one is tried then. */
async function startAtKeptPort(
  location: PostgresLocation,
  options: EmbeddedPostgresOptions,
  urlOn: (port: number) => string,
): Promise<{ readonly port: number; readonly child: ChildProcess; log(): string }> {
  const kept = await readKeptPort(options.folder, 'postgres-port')
  for (const candidate of [...kept.candidates, ...ANY_PORT_AGAIN]) {
    const port = candidate || (await freePort())
    const child = spawnServer(location, options, port)
    const log = collectLog(child)
    options.meanwhile?.()
    try {
      await untilReady(child, { url: urlOn(port), log, signal: options.signal })
      await kept.keep(port)
      return { port, child, log }
    } catch (error) {
      await stopServer(child)
      if (!isPortTaken(log())) throw error
    }
  }
  throw startProblem('each port that was free was taken by another program in the same moment')
}

const throwAwaySettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // `drop database` waits for each session that is just being opened: of a frozen process until this time is up.
  authentication_timeout: '10s',
}

// A question may raise its `work_mem`. A bound on all addresses (-v) would end each session when the stack of one may not grow.
/** Bounds the data of each session to 2 GB. Postgres takes the place of the shell. */
const limitMemory = (command: readonly string[]): readonly string[] =>
  process.platform === 'linux' ? ['/bin/sh', '-c', 'ulimit -d 2097152; exec "$0" "$@"', ...command] : command

function spawnServer(location: PostgresLocation, options: EmbeddedPostgresOptions, port: number): ChildProcess {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: String(options.connectionsMax ?? 200),
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The pages of a try-out; the rest is in the cache of the system. The tests have more to do.
    shared_buffers: options.throwAway ? '256MB' : '64MB',
    max_wal_size: '2GB',
    // A question may ask for any number of parallel workers, each with memory of its own.
    max_worker_processes: '2',
    max_logical_replication_workers: '0',
    ...(options.throwAway ? throwAwaySettings : {}),
  }
  const words = [
    '-D',
    location.dataFolder,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const [program = '', ...given] = limitMemory([location.binaries.postgres, ...words])
  return spawn(program, given, {
    ...runAsIdentity(location),
    // A process group of its own: Ctrl-C at the terminal reaches only this process, which then shuts the server down.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: cleanEnvironment(),
  })
}

/** The last words of the server. */
function collectLog({ stderr }: ChildProcess): () => string {
  let log = ''
  stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString('utf8')).slice(-LOG_CHARS_MAX)
  })
  return () => log
}

type Starting = { readonly url: string; log(): string; readonly signal: AbortSignal | undefined }

async function untilReady(child: ChildProcess, starting: Starting): Promise<void> {
  const ended = new Promise<never>((_, reject) => {
    child.once('error', (cause) => reject(startProblem(cause.message)))
    child.once('exit', () => setImmediate(() => reject(startProblem(starting.log()))))
  })
  ended.catch(() => undefined) // `close` handles an exit after the server was ready
  await Promise.race([ended, untilConnected(starting)])
}

async function untilConnected({ url, log, signal }: Starting): Promise<void> {
  let hasPort = false
  for (const deadlineAt = Date.now() + START_TIMEOUT_MS; Date.now() < deadlineAt; await sleep(POLL_EVERY_MS)) {
    signal?.throwIfAborted()
    hasPort ||= isListening(log())
    if (!hasPort) continue // another server may have the port, and would refuse the password
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => undefined) // the exit of a server that fails to start is reported by `untilReady`
    const error = await client.connect().then(
      () => undefined,
      (cause: Error & { code?: string }) => cause,
    )
    if (error === undefined) return endConnection(client)
    if (error.code === WRONG_PASSWORD) throw startProblem('the password kept beside the data does not open it')
  }
  throw startProblem(`no answer within ${START_TIMEOUT_MS / 1000} s. ${log()}`)
}

const isPortTaken = (log: string): boolean => /could not bind IPv4 address/i.test(log)
const isListening = (log: string): boolean => /listening on IPv4 address/i.test(log)
const isDiskFull = (log: string): boolean => /No space left/i.test(log)

function startProblem(log: string): Problem {
  const text = log.trim().split('\n').slice(-4).join(' ')
  if (isDiskFull(log)) return diskFullProblem()
  return new Problem(`start Postgres: ${text || 'it ended without a message'}`, {
    hint: 'Another start may be using this folder, or it is damaged. Choose another folder with VITALSYNC_DATA, or set DATABASE_URL.',
  })
}

const diskFullProblem = (cause?: unknown) =>
  new Problem('start Postgres: the disk is full', {
    hint: 'Free some space (the first start with its sample people needs about 250 MB) and start again; nothing was damaged.',
    cause,
  })

/** Two files of the write-ahead log, the least that the server writes at once. */
const FREE_SPACE_MIN = 32 * 1024 * 1024

async function isNearlyFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize < FREE_SPACE_MIN
}

/**
 * SIGINT is Postgres's fast shutdown: the server ends its sessions, writes all data to the disk and exits. SIGQUIT leaves the writing to
 * the next start, and so does the end of a server that is frozen.
 */
const stopServer = (child: ChildProcess): Promise<void> =>
  stopProcess(child, [
    ['SIGINT', STOP_TIMEOUT_MS],
    ['SIGQUIT', QUIT_TIMEOUT_MS],
    ['SIGKILL', QUIT_TIMEOUT_MS],
  ])

/** A port of this machine that was free a moment ago: for servers that cannot be asked to take any. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
