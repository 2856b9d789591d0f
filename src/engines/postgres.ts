import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { EngineUnreachable, Problem, UsageProblem } from '../errors.ts'
import { isAlive } from './alive.ts'
import { choosePlace, exists, findBinaries, type Place, writeOnce } from './postgres-files.ts'

export type EmbeddedPostgres = {
  port: number
  /** Address of a database for the cluster's superuser. */
  adminUrl(database: string): string
  /** Address of a database for another role, whose password was set by whoever made it. */
  urlFor(role: string, password: string, database: string): string
  /** Where the data really lies: beside us, or in /var/lib when root's folder is closed to others. */
  dataFolder: string
  moved: boolean
  /** Stops the server, waiting for it to write everything down. */
  close(): Promise<void>
}

export type PostgresOptions = {
  folder: string
  /** Trades safety on power loss for speed; for tests only. */
  throwAway?: boolean
  connectionsMax?: number
}

const START_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 30_000
const WRONG_PASSWORD = '28P01'
const DRAFT = 'postgres.new-'

/** Starts a real Postgres of our own in `folder`, making its data on first use. Listens on loopback only. */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  await mkdir(options.folder, { recursive: true }).catch((cause: NodeJS.ErrnoException) => {
    throw new UsageProblem(`make data folder ${options.folder}: ${cause.message}`, {
      hint: 'Give a folder this user may write to with VITALSYNC_DATA, or set DATABASE_URL to a Postgres of your own.',
      cause,
    })
  })
  const place = await choosePlace(options.folder, await findBinaries())
  const password = await readOrMakePassword(options.folder)
  await stopOrphan(place.dataFolder)
  if (!(await exists(join(place.dataFolder, 'PG_VERSION')))) await createCluster(place, password, options)
  const { child, port } = await launch(place, options)

  const address = (role: string, secret: string, database: string) =>
    `postgres://${role}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${database}`
  const adminUrl = (database: string) => address('postgres', password, database)
  await waitUntilReady(child, adminUrl('postgres'))
  return {
    port,
    adminUrl,
    urlFor: address,
    dataFolder: place.dataFolder,
    moved: place.moved,
    async close() {
      await stop(child)
      if (options.throwAway) await rm(place.dataFolder, { recursive: true, force: true })
    },
  }
}

async function readOrMakePassword(folder: string): Promise<string> {
  const file = join(folder, 'postgres-password')
  await writeOnce(file, randomBytes(24).toString('base64url'))
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new UsageProblem(`read ${file}: ${cause.message}`, {
      hint: 'The data folder belongs to another user: run as that user, or choose another folder with VITALSYNC_DATA.',
      cause,
    })
  })
}

/** Makes the cluster beside its place and moves it in when it is whole: a start that dies half-way leaves no half of one. */
async function createCluster(place: Place, password: string, options: PostgresOptions): Promise<void> {
  const home = dirname(place.dataFolder)
  const left = (await readdir(home)).filter((name) => name.startsWith(DRAFT))
  for (const name of left) await rm(join(home, name), { recursive: true, force: true })
  const draft = join(home, `${DRAFT}${process.pid}`)
  const passwordFile = join(home, `${DRAFT}${process.pid}.pw`)
  try {
    await mkdir(draft, { mode: 0o700 })
    await writeFile(passwordFile, password, { mode: 0o600 })
    if (place.runAs !== undefined) {
      await chown(draft, place.runAs, place.runAs)
      await chown(passwordFile, place.runAs, place.runAs)
    }
    const words = ['-D', draft, '-U', 'postgres', '-E', 'UTF8', '--locale=C.UTF-8', '--auth=scram-sha-256']
    if (options.throwAway) words.push('--no-sync')
    await runToEnd(place.binaries.initdb, [...words, `--pwfile=${passwordFile}`], place)
    await rm(place.dataFolder, { recursive: true, force: true })
    await rename(draft, place.dataFolder)
  } finally {
    await rm(draft, { recursive: true, force: true })
    await rm(passwordFile, { force: true })
  }
}

async function runToEnd(program: string, words: string[], place: Place): Promise<void> {
  const child = spawn(program, words, { ...identity(place), stdio: ['ignore', 'pipe', 'pipe'], env: environment() })
  const said: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw cannotStart(Buffer.concat(said).toString('utf8'))
}

const identity = (place: Place) => (place.runAs === undefined ? {} : { uid: place.runAs, gid: place.runAs })

/** A clean environment: PG* variables of the user's shell must not reach a server that is ours alone. */
const environment = (): NodeJS.ProcessEnv => ({ PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8', TZ: 'UTC' })

async function launch(place: Place, options: PostgresOptions): Promise<{ child: ChildProcess; port: number }> {
  const port = await freePort(await rememberedPort(options.folder))
  await writeFile(join(options.folder, 'postgres-port'), String(port))
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: String(options.connectionsMax ?? 200),
    timezone: 'UTC',
    log_timezone: 'UTC',
    shared_buffers: '256MB',
    max_wal_size: '2GB',
    ...(options.throwAway ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  }
  const words = [
    '-D',
    place.dataFolder,
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const child = spawn(place.binaries.postgres, words, {
    ...identity(place),
    // A process group of its own: Ctrl-C at the terminal is for us to hear; we then stop it in good order.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environment(),
  })
  return { child, port }
}

/** The port of the last start if it is still free, so that saved connections go on working; else any free one. */
async function freePort(wished: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', () => (wished === 0 ? reject(new EngineUnreachable('find a free port')) : resolve(freePort(0))))
    probe.listen(wished, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

async function rememberedPort(folder: string): Promise<number> {
  const text = await readFile(join(folder, 'postgres-port'), 'utf8').catch(() => '0')
  return /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0
}

async function waitUntilReady(child: ChildProcess, url: string): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4000)
  })
  const ended = new Promise<never>((_, reject) => {
    child.once('error', (cause) => reject(cannotStart(cause.message)))
    child.once('exit', () => setImmediate(() => reject(cannotStart(said))))
  })
  ended.catch(() => undefined) // an exit after it was ready is the close's business
  await Promise.race([ended, firstAnswer(url, () => said)])
}

async function firstAnswer(url: string, said: () => string): Promise<void> {
  for (const deadlineAt = Date.now() + START_TIMEOUT_MS; Date.now() < deadlineAt; ) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    client.on('error', () => undefined) // a server that goes away while starting is reported by its exit
    const refusal = await client.connect().then(
      () => undefined,
      (error: Error & { code?: string }) => error,
    )
    if (refusal === undefined) return client.end()
    if (refusal.code === WRONG_PASSWORD) throw cannotStart('the password kept beside the data does not open it')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw cannotStart(`no answer within ${START_TIMEOUT_MS / 1000} s. ${said()}`)
}

function cannotStart(said: string): Problem {
  const text = said.trim().split('\n').slice(-4).join(' ')
  if (/No space left/i.test(said)) {
    return new Problem('start Postgres: the disk is full', {
      hint: 'Free some space (a fresh data folder needs about 100 MB) and start again; nothing was damaged.',
    })
  }
  return new Problem(`start Postgres: ${text || 'it ended without a word'}`, {
    hint: 'Another start may be using this folder, or it is damaged. Choose another folder with VITALSYNC_DATA, or set DATABASE_URL.',
  })
}

/** A server that outlived a killed parent is stopped in good order, so that its folder can be used again. */
async function stopOrphan(dataFolder: string): Promise<void> {
  const file = join(dataFolder, 'postmaster.pid')
  const text = await readFile(file, 'utf8').catch(() => '')
  const pid = Number(text.split('\n')[0])
  if (!Number.isInteger(pid) || pid <= 1) return
  // Postgres takes a server that ended but is not buried yet for alive. Its parent's number it knows to be none; the
  // rest of the file stays, by which it sees whether sessions of the dead one still use the data.
  if (!isAlive(pid)) return writeFile(file, text.replace(/^\d+/, String(process.pid)))
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  const isOurs = commandLine === undefined ? process.platform !== 'linux' : commandLine.includes(dataFolder)
  if (!isOurs) return
  process.kill(pid, 'SIGINT')
  for (const deadlineAt = Date.now() + STOP_TIMEOUT_MS; Date.now() < deadlineAt && isAlive(pid); ) {
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** SIGINT is Postgres's "fast" shutdown: it ends sessions, writes everything down and leaves. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGINT')
  const slow = setTimeout(() => child.kill('SIGQUIT'), STOP_TIMEOUT_MS)
  await gone
  clearTimeout(slow)
}
