import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { connectionProblem } from '../connections/connection-problem.ts'
import { connectTimeoutMsFor } from '../connections/own-server.ts'
import { Problem, UsageProblem } from '../errors.ts'
import { requireServerVersion } from '../postgres/direct-connection.ts'
import { endConnection, withConnection } from '../postgres/short-connection.ts'
import { destroyConnection, isServerSilent, processIdOf } from '../postgres/silent-server.ts'
import { sleep } from '../sleep.ts'
import { SECOND } from '../time/units.ts'
import { takeTurn, watchBlockers } from './lock-holders.ts'

const CONNECT_TIMEOUT_MS = 10 * SECOND
const ANSWER_MAX_MS = 30 * SECOND
const KEEP_ALIVE_AFTER_MS = 10 * SECOND

type Migration = {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

export type MigratedSchema = {
  readonly databaseUrl: string
  /** The folder of `NNNN-name.sql` files, as a file URL that ends in a slash. */
  readonly folder: URL
  /** The Postgres schema that the files fill. Its table `migrations` lists the applied files. */
  readonly schema: string
  /** Otherwise than in production: in a test. */
  readonly locks?: LockPatience
  /** Says who holds a lock that is waited for. */
  readonly say?: (text: string) => void
}

type LockPatience = {
  readonly timeoutMs: number
  readonly pauseMs: number
  readonly triesMax: number
  readonly sayAfterMs?: number
}

/**
 * Every statement after a migration that waits for a lock waits behind the migration: an `alter table` behind one long reading stops
 * every reader of the table. So a migration gives up after a moment, lets the others pass, and tries again.
 */
const lockPatience: LockPatience = { timeoutMs: 5 * SECOND, pauseMs: 2 * SECOND, triesMax: 60 }

/**
 * Applies the missing files, in order, each file in a transaction of its own; forward only. A file with an index that is made
 * concurrently runs outside a transaction.
 * Safe with any number of processes at once: an advisory lock lets one process work, and the others find nothing to do.
 * A file that was changed after it was applied is refused: the tables would no longer be the tables of the files.
 */
export async function applyMigrations(options: MigratedSchema): Promise<{ applied: string[] }> {
  const { databaseUrl, folder, schema, say = () => undefined, locks } = options
  const migrations = await readMigrations(folder)
  return withSession(databaseUrl, async (session) => {
    await takeTurn(session, `vitalsync migrate ${schema}`, { say, sayAfterMs: locks?.sayAfterMs })
    return { applied: await applyMissing(session, options, migrations) }
  })
}

/** A session that takes turns, asks what is applied, and watches: each of its statements is short, and its answer has a time limit. */
async function withSession<T>(databaseUrl: string, work: (session: pg.Client) => Promise<T>): Promise<T> {
  let isReady = false
  const connection = {
    ...connectionOf(databaseUrl),
    connectMaxMs: connectMaxMsOf(databaseUrl),
    answerMaxMs: ANSWER_MAX_MS,
  }
  return withConnection(connection, async (session) => {
    await requireServerVersion(session)
    isReady = true
    return work(session)
  }).catch(async (cause: unknown) => {
    throw isReady && !isServerSilent(cause) ? cause : await postgresProblem(databaseUrl, cause)
  })
}

/**
 * Runs statements that may take hours on a connection of their own. Meanwhile the session says who blocks them for long; where the
 * server answers it no more, they end too.
 */
async function watched<T>(
  session: pg.Client,
  { databaseUrl, say = () => undefined, locks }: MigratedSchema,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const stop = new AbortController()
  const client = await connectToApply(databaseUrl)
  const watch = { pid: processIdOf(client), say, sayAfterMs: locks?.sayAfterMs }
  const watching = watchBlockers(session, watch, stop.signal).catch(() => {
    if (!stop.signal.aborted) destroyConnection(client)
  })
  return work(client).finally(async () => {
    stop.abort()
    await watching
    await endConnection(client)
  })
}

async function connectToApply(databaseUrl: string): Promise<pg.Client> {
  const connectionTimeoutMillis = connectMaxMsOf(databaseUrl)
  const client = new pg.Client({
    ...connectionOf(databaseUrl),
    connectionTimeoutMillis,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
  })
  client.on('error', () => undefined) // the statement under way fails with the error
  await client.connect().catch(async (cause: unknown) => {
    destroyConnection(client)
    throw await postgresProblem(databaseUrl, cause)
  })
  return client
}

const connectionOf = (connectionString: string) => ({ connectionString, application_name: 'vitalsync migrate' })

const connectMaxMsOf = (databaseUrl: string) => connectTimeoutMsFor(databaseUrl, CONNECT_TIMEOUT_MS)

const postgresProblem = (url: string, cause: unknown) =>
  connectionProblem({ kind: 'Postgres', url, variable: 'DATABASE_URL' }, cause)

/** The names of the files of a folder, in the order in which they are applied. */
const listMigrations = async (folder: URL): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort()

/** The files of a folder in the order in which they are applied. */
export async function readMigrations(folder: URL): Promise<Migration[]> {
  return Promise.all(
    (await listMigrations(folder)).map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name, sql, checksum: hash('sha256', sql) }
    }),
  )
}

type Queryable = {
  query<R extends pg.QueryResultRow>(text: string): Promise<{ rows: R[] }>
}

/** The files of this version beside those that a database lists as applied. */
type ComparedMigrations = {
  readonly files: readonly string[]
  readonly applied: readonly string[]
  readonly missing: readonly string[]
  /** Those of a newer version. */
  readonly unknown: readonly string[]
}

/** Asks a connection or a pool by one statement. Nothing is applied where the schema has no table `migrations` yet. */
export async function compareMigrations(
  client: Queryable,
  { folder, schema }: Pick<MigratedSchema, 'folder' | 'schema'>,
): Promise<ComparedMigrations> {
  const files = await listMigrations(folder)
  const listed = await client
    .query<{ name: string }>(`select name from ${pg.escapeIdentifier(schema)}.migrations`)
    .catch((error: unknown) => {
      if (stateOf(error) === UNDEFINED_TABLE) return { rows: [] }
      throw error
    })
  const applied = listed.rows.map(({ name }) => name)
  return {
    files,
    applied,
    missing: files.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !files.includes(name)),
  }
}

/** The versions before a migration of such a name cannot work on its tables. All other migrations only add, and are ignored by them. */
export const breakingOf = (names: readonly string[]): string[] => names.filter((name) => name.endsWith('.breaking.sql'))

/** The reason why this version cannot work on the tables of a newer one. Undefined: it can. */
export function findTooNew(unknown: readonly string[]): Finding | undefined {
  const breaking = breakingOf(unknown)
  if (breaking.length === 0) return undefined
  return {
    text: `its tables are of a newer version of vitalsync, and this one cannot work on them (${breaking.join(', ')})`,
    hint: 'Start the newer version. Commands that only read, such as `vitalsync status`, may still work.',
  }
}

type Listed = Pick<ComparedMigrations, 'files' | 'applied'>

/** The first file never changes: a database that has others without it was made before the first release. */
export function findUnreleased({ files: [first], applied }: Listed): Finding | undefined {
  if (!first || applied.length === 0 || applied.includes(first)) return undefined
  return {
    text: 'the database was made before 0.1.0, the first release, whose tables it lacks',
    hint: 'Carry its data over: `vitalsync export` with the version that made it; then set DATABASE_URL to an empty database, run `vitalsync migrate`, add the people (`vitalsync profiles import`), and `vitalsync import` your files again or let `vitalsync sync` read all from upstream.',
  }
}

type Finding = { readonly text: string; readonly hint: string }

/** Refuses a database of the time before the first release. `what` failed because of it. */
export function requireReleased(what: string, listed: Listed): void {
  const unreleased = findUnreleased(listed)
  if (unreleased) throw new UsageProblem(`${what}: ${unreleased.text}`, { hint: unreleased.hint })
}

async function applyMissing(
  session: pg.Client,
  options: MigratedSchema,
  migrations: readonly Migration[],
): Promise<string[]> {
  const { schema, locks = lockPatience, say = () => undefined } = options
  const quoted = pg.escapeIdentifier(schema)
  await requireList(session, quoted)
  const { rows } = await session.query<{ name: string; checksum: string }>(
    `select name, checksum from ${quoted}.migrations`,
  )
  const done = new Map(rows.map((row) => [row.name, row.checksum]))
  const files = migrations.map(({ name }) => name)
  requireReleased(`migrate schema ${schema}`, { files, applied: [...done.keys()] })
  requireUnchanged(schema, migrations, done)

  const missing = migrations.filter((migration) => !done.has(migration.name))
  const unknown = [...done.keys()].filter((name) => !files.includes(name))
  const tooNew = findTooNew(unknown)
  if (tooNew) throw new UsageProblem(`migrate schema ${schema}: ${tooNew.text}`, { hint: tooNew.hint })
  if (unknown.length > 0) say(`The tables are of a newer version (${unknown.join(', ')}): they stay as they are.`)
  if (missing.length > 0)
    await watched(session, options, async (client) => {
      for (const migration of missing) {
        if (isConcurrent(migration)) await makeIndex(client, schema, migration)
        else await applyWithTries(client, { schema, migration, locks })
      }
    })
  return missing.map((migration) => migration.name)
}

async function applyWithTries(client: pg.Client, migrationTry: Omit<MigrationTry, 'isLast'>): Promise<void> {
  const { pauseMs, triesMax } = migrationTry.locks
  for (let tries = 1; !(await applyOne(client, { ...migrationTry, isLast: tries >= triesMax })); tries += 1)
    await sleep(pauseMs)
}

/** Citus asks all nodes for a schema, even `if not exists`, and one of them may be away. */
async function requireList(client: pg.Client, quoted: string): Promise<void> {
  const { rows } = await client.query('select to_regclass($1) as found', [`${quoted}.migrations`])
  if (rows[0]?.found) return
  await client.query(`create schema if not exists ${quoted}`)
  await client.query(`create table if not exists ${quoted}.migrations
    (name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`)
}

type MigrationTry = {
  readonly schema: string
  readonly migration: Migration
  readonly locks: LockPatience
  readonly isLast: boolean
}

/** False: somebody else held a lock for too long, and nothing was changed. */
async function applyOne(client: pg.Client, { schema, migration, locks, isLast }: MigrationTry): Promise<boolean> {
  const { name, sql, checksum } = migration
  await client.query(`begin; set local lock_timeout = ${locks.timeoutMs}`)
  try {
    await client.query(sql)
    await recordApplied(client, schema, { name, checksum })
    await client.query('commit')
    return true
  } catch (cause) {
    await client.query('rollback')
    if (stateOf(cause) === LOCK_NOT_AVAILABLE && !isLast) return false
    throw migrationProblem(schema, name, { cause, left: 'The file was rolled back.' })
  }
}

async function recordApplied(
  client: pg.Client,
  schema: string,
  { name, checksum }: Pick<Migration, 'name' | 'checksum'>,
): Promise<void> {
  const statement = `insert into ${pg.escapeIdentifier(schema)}.migrations (name, checksum) values ($1, $2)`
  await client.query(statement, [name, checksum])
}

const migrationProblem = (schema: string, name: string, { cause, left }: { cause: unknown; left: string }) =>
  new Problem(`apply migration ${schema}/${name}: ${(cause as Error).message}`, {
    hint: `${left} Remove the cause and run \`vitalsync migrate\` again.`,
    cause,
  })

const isConcurrent = ({ sql }: Migration): boolean => /^create index concurrently if not exists /.test(sql)

/**
 * Makes an index while others write to the table. The remains of a killed try are no index, and are dropped before. The statement
 * waits for every transaction that began earlier, however long that takes: it keeps nobody waiting.
 */
async function makeIndex(client: pg.Client, schema: string, { name, sql, checksum }: Migration): Promise<void> {
  try {
    await client.query('set lock_timeout = 0; set statement_timeout = 0')
    const { rows } = await client.query<{ index: string }>(
      `select i.indexrelid::regclass::text as index from pg_index i join pg_class c on c.oid = i.indexrelid
       where not i.indisvalid and c.relnamespace = $1::regnamespace`,
      [pg.escapeIdentifier(schema)],
    )
    for (const { index } of rows) await client.query(`drop index concurrently ${index}`)
    await client.query(sql)
    await client.query('reset lock_timeout; reset statement_timeout')
    await recordApplied(client, schema, { name, checksum })
  } catch (cause) {
    throw migrationProblem(schema, name, { cause, left: 'Everything else is as it was.' })
  }
}

const UNDEFINED_TABLE = '42P01'
const LOCK_NOT_AVAILABLE = '55P03'
const stateOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined)

function requireUnchanged(schema: string, migrations: readonly Migration[], done: Map<string, string>): void {
  for (const { name, checksum } of migrations) {
    if ((done.get(name) ?? checksum) === checksum) continue
    throw new Problem(`migrate schema ${schema}: ${name} was changed after it was applied`, {
      hint: 'The database belongs to another version of vitalsync. Use that version, or a newer one.',
    })
  }
}
