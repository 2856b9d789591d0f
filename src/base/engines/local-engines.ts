import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { z } from 'zod'
import { markedAsOwn } from '../connections/own-server.ts'
import { EngineUnreachable, UsageProblem } from '../errors.ts'
import { dataFolderHint, makeDataFolder } from '../files/data-folder.ts'
import { FolderInUse, lockFolder, lockHolderOf } from '../files/folder-lock.ts'
import { readOrDrawSecret, readPrivateFile, replacePrivateFile } from '../files/private-file.ts'
import {
  closeFunctionsStatement,
  questionsPassword,
  readingRoleStatements,
  readQuestionsRole,
  silentLogStatement,
  tempFileLimitStatement,
} from '../postgres/reading-role.ts'
import { endConnection, withConnection } from '../postgres/short-connection.ts'
import { isFulfilled, sleep } from '../sleep.ts'
import { jsonOrUndefined } from '../text/json.ts'
import { shellPath } from '../text/readable.ts'
import { startPostgres } from './embedded-postgres.ts'
import { readRunningPort } from './kept-port.ts'

/** The engines that need no given address: three databases of one embedded Postgres, each with its role. */
export type LocalEngines = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly serviceUrl: string
  readonly tokenKey: Buffer
  /** The command line of a read-only psql session; its password is in a file that only this user may read. */
  readonly psqlLine: string
  /** The folder of Postgres's files, and whether it lies outside the given folder. */
  readonly dataFolder: string
  readonly moved: boolean
  /** The cause of an error on these engines where it is a full disk; else the error itself. */
  faultOf(error: unknown): Promise<unknown>
  close(): Promise<void>
}

const secretsSchema = z.object({ worker: z.string(), service: z.string(), reader: z.string(), tokenKey: z.string() })
type EngineSecrets = z.output<typeof secretsSchema>

function parseSecrets(text: string, folder: string): EngineSecrets {
  const parsed = secretsSchema.safeParse(jsonOrUndefined(text))
  if (parsed.success) return parsed.data
  throw new UsageProblem(`read ${secretsFileOf(folder)}: it does not hold the secrets of this data folder`, {
    hint: 'Put the file of a backup there, or choose another folder with VITALSYNC_DATA.',
  })
}

const roles = { worker: 'vitalsync', service: 'profile_service', reader: 'vitalsync_reader' } as const
const databases = { vitalsync: roles.worker, vitalsync_queue: roles.worker, profile_service: roles.service } as const

type StartOptions = {
  /** Called every few seconds while the start takes long. */
  readonly slow: (text: string) => void
  /** Called by the one process that makes the data, before it does. */
  readonly making?: () => void
  /** Called, once or more, when Postgres is starting and this process only waits. */
  readonly meanwhile?: () => void
  /** Aborted: nobody waits for the engines any more. */
  readonly signal?: AbortSignal
}

export async function startLocalEngines(folder: string, options?: StartOptions): Promise<LocalEngines> {
  await makeDataFolder(folder)
  const unlock = await lockFolder(folder)
  if (!existsSync(secretsFileOf(folder))) options?.making?.()
  const stopTelling = tellWhileSlow(options?.slow)
  try {
    const postgres = await startPostgres({ folder, meanwhile: options?.meanwhile, signal: options?.signal })
    try {
      const secrets = await readOrMakeSecrets(folder)
      await prepareCluster(postgres.adminUrl('postgres'), secrets)
      await withConnection(ownConnection(postgres.adminUrl('vitalsync')), (admin) =>
        admin.query(closeFunctionsStatement(roles.worker)),
      )
      const entry = `127.0.0.1:${postgres.port}:vitalsync:${roles.reader}:${secrets.reader}\n`
      await replacePrivateFile(passFileOf(folder), entry)
      return {
        ...connectionsOf({ folder, secrets, port: postgres.port }),
        dataFolder: postgres.dataFolder,
        moved: postgres.moved,
        faultOf: postgres.faultOf,
        async close() {
          await postgres.close()
          await unlock()
        },
      }
    } catch (error) {
      await postgres.close()
      throw await postgres.faultOf(error)
    }
  } catch (error) {
    await unlock()
    throw error
  } finally {
    stopTelling()
  }
}

const TELL_SLOW_EVERY_MS = 5000

/** After a kill Postgres first recovers its data, and a busy machine makes a fresh cluster slowly: neither is an error. */
function tellWhileSlow(tell: StartOptions['slow'] = () => undefined): () => void {
  const startedAtMs = performance.now()
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAtMs) / 1000)
    tell(`  our own Postgres is still starting, since ${seconds} s …`)
  }, TELL_SLOW_EVERY_MS)
  return () => clearInterval(timer)
}

const secretsFileOf = (folder: string) => join(folder, 'secrets.json')
const passFileOf = (folder: string) => join(folder, 'pgpass')

function connectionsOf({ folder, secrets, port }: { folder: string; secrets: EngineSecrets; port: number }) {
  const url = (database: keyof typeof databases) => {
    const secret = databases[database] === roles.worker ? secrets.worker : secrets.service
    return markedAsOwn(`postgres://${databases[database]}:${encodeURIComponent(secret)}@127.0.0.1:${port}/${database}`)
  }
  return {
    databaseUrl: url('vitalsync'),
    queueUrl: url('vitalsync_queue'),
    serviceUrl: url('profile_service'),
    tokenKey: Buffer.from(secrets.tokenKey, 'base64'),
    psqlLine: `PGPASSFILE=${shellPath(passFileOf(folder))} psql "host=127.0.0.1 port=${port} dbname=vitalsync user=${roles.reader}"`,
  }
}

/** The name of the connection of a command that joined: the process that started the server waits until it is closed. */
const JOINED_APPLICATION_NAME = 'vitalsync joined'
const JOIN_TIMEOUT_MS = 60_000
const JOINED_STAY_MAX_MS = 10 * 60_000
const JOIN_POLL_EVERY_MS = 100

/**
 * For a command that ends soon: joins the engines that another process runs in the folder, or starts them. The process that
 * started the engines stops them, after the commands that joined have closed their connections.
 */
export async function joinLocalEngines(folder: string, options?: StartOptions): Promise<LocalEngines> {
  for (const deadlineAt = Date.now() + JOIN_TIMEOUT_MS; ; await sleep(JOIN_POLL_EVERY_MS, options?.signal)) {
    const joined = (await lockHolderOf(folder)) ? await joinRunning(folder) : await startUnlessStarted(folder, options)
    if (joined) return joined
    if (Date.now() < deadlineAt) continue
    throw new EngineUnreachable(`join the engines in ${folder}: their Postgres does not answer`, {
      hint: 'Stop the process that runs there and try again, or choose another folder with VITALSYNC_DATA.',
    })
  }
}

async function startUnlessStarted(folder: string, options?: StartOptions): Promise<LocalEngines | undefined> {
  try {
    const engines = await startLocalEngines(folder, options)
    return {
      ...engines,
      async close() {
        await waitForJoined(engines.databaseUrl)
        await engines.close()
      },
    }
  } catch (error) {
    if (error instanceof FolderInUse) return undefined // another process started first: this process joins it in the next round
    throw error
  }
}

async function joinRunning(folder: string): Promise<LocalEngines | undefined> {
  const port = await readRunningPort(folder, 'postgres-port')
  const secretsText = await readPrivateFile(secretsFileOf(folder), dataFolderHint)
  if (!port || secretsText === undefined) return undefined
  const connections = connectionsOf({ folder, port, secrets: parseSecrets(secretsText, folder) })
  const client = new pg.Client({
    connectionString: connections.databaseUrl,
    connectionTimeoutMillis: JOIN_TIMEOUT_MS,
    application_name: JOINED_APPLICATION_NAME,
  })
  client.on('error', () => undefined) // the server was stopped: the next query of the command fails with the error
  if (!(await isFulfilled(client.connect()))) return undefined
  const faultOf = async (error: unknown) => error // the process that started the server says it
  return { ...connections, dataFolder: folder, moved: false, faultOf, close: () => endConnection(client) }
}

/** On a busy machine our own server may take long. */
const ownConnection = (connectionString: string) => ({
  connectionString,
  connectMaxMs: JOIN_TIMEOUT_MS,
  answerMaxMs: JOIN_TIMEOUT_MS,
})

async function waitForJoined(databaseUrl: string): Promise<void> {
  await withConnection(ownConnection(databaseUrl), async (client) => {
    for (const deadlineAt = Date.now() + JOINED_STAY_MAX_MS; Date.now() < deadlineAt; await sleep(JOIN_POLL_EVERY_MS)) {
      // A reader may give its session any name.
      const { rowCount } = await client.query(
        'select 1 from pg_stat_activity where usename = current_user and application_name = $1 limit 1',
        [JOINED_APPLICATION_NAME],
      )
      if (rowCount === 0) return
    }
  })
}

async function readOrMakeSecrets(folder: string): Promise<EngineSecrets> {
  const secret = () => randomBytes(24).toString('base64url')
  const draw = (): EngineSecrets => ({
    worker: secret(),
    service: secret(),
    reader: secret(),
    tokenKey: randomBytes(32).toString('base64'),
  })
  const text = await readOrDrawSecret(secretsFileOf(folder), () => JSON.stringify(draw()), dataFolderHint)
  return parseSecrets(text, folder)
}

/** Safe to run at every start: creates missing roles and databases, and sets the passwords that the folder holds. */
async function prepareCluster(adminUrl: string, secrets: EngineSecrets): Promise<void> {
  await withConnection(ownConnection(adminUrl), async (admin) => {
    for (const kind of ['worker', 'service'] as const) await prepareRole(admin, roles[kind], secrets[kind])
    // Each copies the template, which takes a tenth of a second.
    const prepare = ([database, owner]: [string, string]) =>
      withConnection(ownConnection(adminUrl), (client) => prepareDatabase(client, database, owner))
    await Promise.all(Object.entries(databases).map(prepare))
    // In the databases of the server itself a reader would have every function, and temporary tables.
    await admin.query('revoke all on database postgres, template1 from public')
    await prepareReadingRoles(admin, secrets)
  })
}

async function roleExists(admin: pg.Client, role: string): Promise<boolean> {
  const { rowCount } = await admin.query('select 1 from pg_roles where rolname = $1', [role])
  return rowCount !== 0
}

async function prepareRole(admin: pg.Client, role: string, password: string): Promise<void> {
  const verb = (await roleExists(admin, role)) ? 'alter' : 'create'
  await admin.query(`${verb} role ${role} with login password ${pg.escapeLiteral(password)}`)
}

/** For psql, and for the questions of the dashboard and of `vitalsync sql`. */
async function prepareReadingRoles(admin: pg.Client, { reader, tokenKey }: EngineSecrets): Promise<void> {
  const questions = await readQuestionsRole(admin, 'vitalsync')
  const readers = [
    { name: roles.reader, exists: await roleExists(admin, roles.reader), password: reader },
    {
      name: questions.role,
      exists: questions.exists,
      password: questionsPassword(Buffer.from(tokenKey, 'base64'), questions.role),
    },
  ]
  for (const reader of readers) {
    // A role may have given itself settings with which it cannot log in.
    const resets = [`alter role ${reader.name} reset all`, `alter role ${reader.name} in database vitalsync reset all`]
    if (reader.exists) for (const reset of resets) await admin.query(reset)
    for (const statement of readingRoleStatements(reader)) await admin.query(statement)
    for (const limit of [tempFileLimitStatement, silentLogStatement]) await admin.query(limit(reader.name))
    await admin.query(`grant connect on database vitalsync to ${reader.name}`)
  }
}

async function prepareDatabase(admin: pg.Client, database: string, owner: string): Promise<void> {
  const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [database])
  if (rowCount === 0) await admin.query(`create database ${database} owner ${owner}`)
  await admin.query(`revoke all on database ${database} from public`)
}
