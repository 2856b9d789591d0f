import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { UsageProblem } from '../errors.ts'
import { lockFolder } from './folder-lock.ts'
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
      const url = (database: keyof typeof databases) =>
        postgres.urlFor(
          databases[database],
          databases[database] === roles.worker ? secrets.worker : secrets.service,
          database,
        )
      const passFile = join(folder, 'pgpass')
      const entry = `127.0.0.1:${postgres.port}:vitalsync:${roles.reader}:${secrets.reader}\n`
      await writeFile(passFile, entry, { mode: 0o600 })
      return {
        databaseUrl: url('vitalsync'),
        queueUrl: url('vitalsync_queue'),
        serviceUrl: url('profile_service'),
        tokenKey: Buffer.from(secrets.tokenKey, 'base64'),
        psqlLine: `PGPASSFILE=${passFile} psql "host=127.0.0.1 port=${postgres.port} dbname=vitalsync user=${roles.reader}"`,
        readerRole: roles.reader,
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
