import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { UsageProblem } from '../errors.ts'
import { sqlState } from '../postgres/postgres-errors.ts'

/** For tables that are missing, or older than this version. */
export const MIGRATE_HINT = 'Run: vitalsync migrate'

const UNDEFINED_TABLE = '42P01'

export type Migration = {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

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
type ComparedMigrations = Awaited<ReturnType<typeof compareMigrations>>

/** Asks a connection or a pool by one statement. Nothing is applied where the schema has no table `migrations` yet. */
export async function compareMigrations(
  client: Queryable,
  { folder, schema }: { readonly folder: URL; readonly schema: string },
) {
  const files = await listMigrations(folder)
  const listed = await client
    .query<{ name: string }>(`select name from ${pg.escapeIdentifier(schema)}.migrations`)
    .catch((error: unknown) => {
      if (sqlState(error) === UNDEFINED_TABLE) return { rows: [] }
      throw error
    })
  const applied = listed.rows.map(({ name }) => name)
  return {
    files,
    applied,
    missing: files.filter((name) => !applied.includes(name)),
    /** Those of a newer version. */
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
