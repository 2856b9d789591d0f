import pg from 'pg'
import { connectionProblem } from '../connections/connection-problem.ts'
import { connectTimeoutMsFor } from '../connections/own-server.ts'
import { Problem, UsageProblem } from '../errors.ts'
import { requireServerVersion } from '../postgres/direct-connection.ts'
import { sqlState } from '../postgres/postgres-errors.ts'
import { endConnection, withConnection } from '../postgres/short-connection.ts'
import { destroyConnection, isServerSilent, processIdOf } from '../postgres/silent-server.ts'
import { sleep } from '../sleep.ts'
import { SECOND } from '../time/units.ts'
import { findTooNew, type Migration, readMigrations, requireReleased } from './compare-migrations.ts'
import { takeTurn, watchBlockers } from './lock-holders.ts'

const CONNECT_TIMEOUT_MS = 10 * SECOND
const ANSWER_MAX_MS = 30 * SECOND
const KEEP_ALIVE_AFTER_MS = 10 * SECOND

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
    if (sqlState(cause) === LOCK_NOT_AVAILABLE && !isLast) return false
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

const LOCK_NOT_AVAILABLE = '55P03'

function requireUnchanged(schema: string, migrations: readonly Migration[], done: Map<string, string>): void {
  for (const { name, checksum } of migrations) {
    if ((done.get(name) ?? checksum) === checksum) continue
    throw new Problem(`migrate schema ${schema}: ${name} was changed after it was applied`, {
      hint: 'The database belongs to another version of vitalsync. Use that version, or a newer one.',
    })
  }
}
