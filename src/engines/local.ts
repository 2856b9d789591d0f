import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { EngineUnreachable, UsageProblem } from '../errors.ts'
import { FolderInUse, holderOf, lockFolder } from './folder-lock.ts'
import { startPostgres } from './postgres.ts'
import { writeOnce } from './postgres-files.ts'

/** Everything that is there without an address being given: three databases of one embedded Postgres, each with its role. */
export type LocalEngines = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly serviceUrl: string
  readonly tokenKey: Buffer
  /** A line for a terminal: an analyst's read-only connection, its password in a file only this user may read. */
  readonly psqlLine: string
  readonly readerRole: string
  /** Where Postgres keeps its files, and whether that is outside the folder that was asked for. */
  readonly dataFolder: string
  readonly moved: boolean
  close(): Promise<void>
}

type Secrets = { worker: string; service: string; reader: string; tokenKey: string }

const roles = { worker: 'vitalsync', service: 'profile_service', reader: 'vitalsync_reader' } as const
const databases = { vitalsync: roles.worker, vitalsync_queue: roles.worker, profile_service: roles.service } as const

export async function startLocalEngines(folder: string): Promise<LocalEngines> {
  await mkdir(folder, { recursive: true, mode: 0o755 }).catch((cause: NodeJS.ErrnoException) => {
    throw new UsageProblem(`make data folder ${folder}: ${cause.message}`, {
      hint: 'Choose a folder this user may write to with VITALSYNC_DATA.',
      cause,
    })
  })
  const unlock = await lockFolder(folder)
  try {
    const postgres = await startPostgres({ folder })
    try {
      const secrets = await readOrMakeSecrets(folder)
      await prepareCluster(postgres.adminUrl('postgres'), secrets)
      const entry = `127.0.0.1:${postgres.port}:vitalsync:${roles.reader}:${secrets.reader}\n`
      await writeFile(passFileOf(folder), entry, { mode: 0o600 })
      return {
        ...describe({ folder, secrets, port: postgres.port }),
        dataFolder: postgres.dataFolder,
        moved: postgres.moved,
        async close() {
          await postgres.close()
          await unlock()
        },
      }
    } catch (error) {
      await postgres.close()
      throw error
    }
  } catch (error) {
    await unlock()
    throw error
  }
}

const passFileOf = (folder: string) => join(folder, 'pgpass')

function describe({ folder, secrets, port }: { folder: string; secrets: Secrets; port: number }) {
  const url = (database: keyof typeof databases) => {
    const secret = databases[database] === roles.worker ? secrets.worker : secrets.service
    return `postgres://${databases[database]}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${database}`
  }
  return {
    databaseUrl: url('vitalsync'),
    queueUrl: url('vitalsync_queue'),
    serviceUrl: url('profile_service'),
    tokenKey: Buffer.from(secrets.tokenKey, 'base64'),
    psqlLine: `PGPASSFILE=${passFileOf(folder)} psql "host=127.0.0.1 port=${port} dbname=vitalsync user=${roles.reader}"`,
    readerRole: roles.reader,
  }
}

/** By this name a guest's connection is known, so that the host waits for it before it stops the server. */
const GUEST = 'vitalsync guest'
const JOIN_TIMEOUT_MS = 60_000
const GUESTS_STAY_MAX_MS = 10 * 60_000
const LOOK_EVERY_MS = 100

/**
 * For a command that comes and goes: joins the engines that another process runs in the folder, or starts them. Who
 * started them stops them again, once those who joined meanwhile have left.
 */
export async function joinLocalEngines(folder: string): Promise<LocalEngines> {
  for (const deadlineAt = Date.now() + JOIN_TIMEOUT_MS; ; await pause(LOOK_EVERY_MS)) {
    const joined = (await holderOf(folder)) ? await joinRunning(folder) : await startAsHost(folder)
    if (joined) return joined
    if (Date.now() < deadlineAt) continue
    throw new EngineUnreachable(`join the engines in ${folder}: their Postgres does not answer`, {
      hint: 'Stop the process that runs there and try again, or choose another folder with VITALSYNC_DATA.',
    })
  }
}

async function startAsHost(folder: string): Promise<LocalEngines | undefined> {
  try {
    const engines = await startLocalEngines(folder)
    return {
      ...engines,
      async close() {
        await guestsLeft(engines.databaseUrl)
        await engines.close()
      },
    }
  } catch (error) {
    if (error instanceof FolderInUse) return undefined // somebody was faster: joined at the next look
    throw error
  }
}

async function joinRunning(folder: string): Promise<LocalEngines | undefined> {
  const port = Number(await readFile(join(folder, 'postgres-port'), 'utf8').catch(() => ''))
  const written = await readFile(join(folder, 'secrets.json'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new UsageProblem(`read the secrets of ${folder}: ${error.message}`, {
      hint: 'Run as the user the folder belongs to, or choose another one with VITALSYNC_DATA.',
      cause: error,
    })
  })
  if (!port || written === undefined) return undefined
  const described = describe({ folder, port, secrets: JSON.parse(written) as Secrets }) // written by readOrMakeSecrets
  const guest = new pg.Client({ connectionString: described.databaseUrl, application_name: GUEST })
  guest.on('error', () => undefined) // the host went away: whatever uses the engines next says so
  const answered = await guest.connect().then(
    () => true,
    () => false,
  )
  if (!answered) return undefined
  return { ...described, dataFolder: folder, moved: false, close: () => guest.end() }
}

async function guestsLeft(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (const deadlineAt = Date.now() + GUESTS_STAY_MAX_MS; Date.now() < deadlineAt; await pause(LOOK_EVERY_MS)) {
      const { rows } = await client.query('select 1 from pg_stat_activity where application_name = $1 limit 1', [GUEST])
      if (rows.length === 0) return
    }
  } finally {
    await client.end()
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function readOrMakeSecrets(folder: string): Promise<Secrets> {
  const file = join(folder, 'secrets.json')
  const secret = () => randomBytes(24).toString('base64url')
  const fresh: Secrets = {
    worker: secret(),
    service: secret(),
    reader: secret(),
    tokenKey: randomBytes(32).toString('base64'),
  }
  await writeOnce(file, JSON.stringify(fresh))
  return JSON.parse(await readFile(file, 'utf8')) as Secrets
}

/** Safe to run at every start: makes what is missing and sets the passwords to what the folder says. */
async function prepareCluster(adminUrl: string, secrets: Secrets): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  try {
    for (const kind of ['worker', 'service', 'reader'] as const) await prepareRole(admin, roles[kind], secrets[kind])
    for (const [database, owner] of Object.entries(databases)) await prepareDatabase(admin, database, owner)
  } finally {
    await admin.end()
  }
}

async function prepareRole(admin: pg.Client, role: string, password: string): Promise<void> {
  const { rows } = await admin.query('select 1 from pg_roles where rolname = $1', [role])
  const verb = rows.length === 0 ? 'create' : 'alter'
  await admin.query(`${verb} role ${role} with login password ${pg.escapeLiteral(password)}`)
}

async function prepareDatabase(admin: pg.Client, database: string, owner: string): Promise<void> {
  const { rows } = await admin.query('select 1 from pg_database where datname = $1', [database])
  if (rows.length === 0) await admin.query(`create database ${database} owner ${owner}`)
  await admin.query(`revoke all on database ${database} from public`)
  if (database === 'vitalsync') await admin.query(`grant connect on database ${database} to ${roles.reader}`)
}
