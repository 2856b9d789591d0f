import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { EngineUnreachable, Problem } from '../errors.ts'

export type Migration = { name: string; sql: string; checksum: string }

export type MigrateOptions = {
  databaseUrl: string
  /** The folder of `NNNN-name.sql` files, as a file URL that ends in a slash. */
  folder: URL
  /** The Postgres schema that the files fill, and that remembers which were applied. */
  schema: string
}

/**
 * Applies what is missing, in order, each file in a transaction of its own; forward only.
 * Safe with any number of processes at once: an advisory lock lets one work and the others find nothing left to do.
 * A file that was changed after it was applied stops everything: the database would no longer be what the files say.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.folder)
  const client = new pg.Client({ connectionString: options.databaseUrl, application_name: 'vitalsync migrate' })
  await client.connect().catch((cause: Error) => {
    throw new EngineUnreachable(`connect to Postgres to migrate schema ${options.schema}: ${cause.message}`, {
      hint: 'Check the address, the password, and that the server is running.',
      cause,
    })
  })
  try {
    await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [`vitalsync migrate ${options.schema}`])
    return { applied: await applyMissing(client, options.schema, migrations) }
  } finally {
    await client.end()
  }
}

export async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function applyMissing(client: pg.Client, schema: string, migrations: Migration[]): Promise<string[]> {
  const quoted = pg.escapeIdentifier(schema)
  await client.query(`create schema if not exists ${quoted}`)
  await client.query(`create table if not exists ${quoted}.migrations
    (name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`)
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from ${quoted}.migrations`,
  )
  const done = new Map(rows.map((row) => [row.name, row.checksum]))
  refuseSurprises(schema, migrations, done)

  const missing = migrations.filter((migration) => !done.has(migration.name))
  for (const { name, sql, checksum } of missing) {
    await client.query('begin')
    try {
      await client.query(sql)
      await client.query(`insert into ${quoted}.migrations (name, checksum) values ($1, $2)`, [name, checksum])
      await client.query('commit')
    } catch (cause) {
      await client.query('rollback')
      throw new Problem(`apply migration ${schema}/${name}: ${(cause as Error).message}`, {
        hint: 'Nothing of this file was kept. Mend the cause and run `vitalsync migrate` again.',
        cause,
      })
    }
  }
  return missing.map((migration) => migration.name)
}

function refuseSurprises(schema: string, migrations: Migration[], done: Map<string, string>): void {
  const known = new Map(migrations.map((migration) => [migration.name, migration.checksum]))
  for (const [name, checksum] of done) {
    const here = known.get(name)
    if (here === checksum) continue
    throw new Problem(
      here === undefined
        ? `migrate schema ${schema}: the database has ${name}, which this version does not know`
        : `migrate schema ${schema}: ${name} was changed after it was applied`,
      { hint: 'The database belongs to another version of vitalsync. Use that version, or a newer one.' },
    )
  }
}
