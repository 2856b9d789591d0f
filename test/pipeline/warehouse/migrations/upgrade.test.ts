import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import type pg from 'pg'
import { expect } from 'vitest'
import { applyMigrations } from '../../../../src/base/engines/apply-migrations.ts'
import { migrationsFolder } from '../../../../src/operations/migrate-warehouse.ts'
import { migrateService } from '../../../../src/service/store/migrate-service.ts'
import { within } from '../../../support/fixtures.ts'
import { makeNextVersion } from '../../../support/next-version.ts'
import { runProgram, settingsFor } from '../../../support/run-program.ts'
import { test } from '../../../support/test-pipeline.ts'
import { connect } from '../../../support/test-warehouse.ts'

/** Everything that the schemas hold, one line each. The order of columns counts where a view has them. */
const catalogSql = `
  with n as (select oid, nspname from pg_namespace where nspname in ('vitalsync', 'warehouse', 'service')),
  c as (select c.oid, n.nspname || '.' || relname as name, relkind, relpersistence, reloptions
    from pg_class c join n on n.oid = relnamespace)
  select 'relation ' || concat_ws(' ', name, relkind, relpersistence, reloptions) as line from c
  union all
  select 'column ' || concat_ws(' ', c.name, attname, case when relkind = 'v' then attnum end, format_type(atttypid, atttypmod),
    case when attcollation <> 0 then attcollation::regcollation end, case when attnotnull then 'not null' end, attidentity, attgenerated, attstorage,
    pg_get_expr(adbin, adrelid))
  from c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
  left join pg_attrdef on adrelid = c.oid and adnum = attnum where relkind in ('r', 'v')
  union all select 'view ' || name || pg_get_viewdef(oid) from c where relkind = 'v'
  union all select pg_get_indexdef(oid) from c where relkind = 'i'
  union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(k.oid))
  from pg_constraint k join n on n.oid = connamespace
  union all select pg_get_triggerdef(t.oid) from pg_trigger t join c on c.oid = tgrelid where not tgisinternal
  union all select pg_get_functiondef(p.oid) from pg_proc p join n on n.oid = pronamespace
  order by 1`

async function catalogOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(catalogSql)
  return rows.map(({ line }) => line)
}

/** A dump of each released version: `npm run freeze`. */
const fixtures = new URL('fixtures/', import.meta.url)
const versions = (await readdir(fixtures)).filter((name) => name.endsWith('.sql.gz'))

async function restore(client: pg.Client, file: string): Promise<void> {
  await client.query(gunzipSync(await readFile(new URL(file, fixtures))).toString())
}

async function migrate(databaseUrl: string, folder: URL = migrationsFolder): Promise<void> {
  await applyMigrations({ databaseUrl, folder, schema: 'vitalsync' })
  await migrateService(databaseUrl)
}

/** The columns that each table and view has now, and all that they hold. */
async function contentOf(client: pg.Client, columns?: Content['columns']): Promise<Content> {
  const { rows } = await client.query<{ name: string; list: string }>(
    `select attrelid::regclass::text as name, string_agg(format('%I', attname), ', ' order by attnum) as list
     from pg_attribute join pg_class c on c.oid = attrelid
     where relnamespace in ('vitalsync'::regnamespace, 'warehouse'::regnamespace, 'service'::regnamespace) and relkind in ('r', 'v')
       and attnum > 0 and not attisdropped and relname not in ('calendar', 'migrations') and attname <> all($1) group by 1 order by 1`,
    [ofThisSecond],
  )
  const named = columns ?? new Map(rows.map(({ name, list }) => [name, list]))
  const held = new Map<string, string[]>()
  for (const [name, list] of named) {
    const { rows: lines } = await client.query<{ line: string }>(
      `select row(${list})::text as line from ${name} order by 1`,
    )
    held.set(
      name,
      lines.map(({ line }) => line),
    )
  }
  return { columns: named, held }
}
type Content = { readonly columns: ReadonlyMap<string, string>; readonly held: ReadonlyMap<string, readonly string[]> }

/** The tables that work fills. */
const worked = [
  ...[
    'names',
    'profiles',
    'tombstones',
    'tokens',
    'secrets',
    'ledger',
    'reading_tags',
    'lateness',
    'log_days',
    'orders',
    'runs',
    'slots',
  ],
  ...[
    'items',
    'parcels',
    'imports',
    'quarantine',
    'history',
    'differences',
    'verified_windows',
    'drift_people',
    'added_columns',
  ],
  ...['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information'],
]

/** The column that a user added, with its trigger and view. */
const columnOfUser = /added_first_factor|scores_added|fill_scores/
/** Columns of views that change from second to second. */
const ofThisSecond = ['share_covered', 'missing', 'age']

for (const file of versions) {
  test(`a database of ${file} that this version migrates has what a new database has`, async ({ database }) => {
    await within('template0', async (newDatabase) => {
      const [old, fresh] = await Promise.all([connect(database), connect(newDatabase)])
      await restore(old, file)

      await migrate(database)
      await migrate(newDatabase)

      const expected = await catalogOf(fresh)
      expect(expected.length).toBeGreaterThan(500)
      const found = await catalogOf(old)
      expect(found.filter((line) => !columnOfUser.test(line))).toEqual(expected)
      await Promise.all([old.end(), fresh.end()])
    })
  })

  test(`each row of ${file} is still there after the migrations of this version and of a next one, and each view answers the same`, async ({
    database,
    onTestFinished,
  }) => {
    const next = await makeNextVersion()
    onTestFinished(next.close)
    const client = await connect(database)
    await restore(client, file)
    const before = await contentOf(client)
    const filled = [...before.held].filter(([, lines]) => lines.length > 0).map(([name]) => name)
    expect(filled).toEqual(expect.arrayContaining(worked.map((name) => `vitalsync.${name}`)))

    await migrate(database)
    await migrate(database, pathToFileURL(join(next.folder, 'src/pipeline/warehouse/migrations/')))

    const after = await contentOf(client, before.columns)
    const changed = [...before.held.keys()].filter(
      (name) => before.held.get(name)?.join() !== after.held.get(name)?.join(),
    )
    expect(changed).toEqual([])
    const notes = await client.query('select 1 from vitalsync.notes')
    expect(notes.rows).toHaveLength(before.held.get('vitalsync.profiles')?.length ?? 0)
    await client.end()
  })

  test(`the jobs that waited in the queue of ${file} are carried out by the next version`, async ({
    database,
    peer,
    onTestFinished,
  }) => {
    const next = await makeNextVersion()
    onTestFinished(next.close)
    const client = await connect(database)
    onTestFinished(() => client.end())
    await restore(client, file)
    const rowsOf = async (text: string) => (await client.query(text)).rows
    expect(await rowsOf('select 1 from vitalsync.orders')).not.toEqual([])
    expect(await rowsOf("select 1 from bullmq.job where state = 'waiting'")).not.toEqual([])
    for (const { external_id } of await rowsOf('select external_id from vitalsync.names'))
      peer.profiles.add(external_id)
    const account = { UPSTREAM_URL: peer.url, UPSTREAM_CLIENT_SECRET: 'client-secret' }
    const settings = { ...settingsFor(database), ...account }
    const program = { cwd: tmpdir(), entry: next.entry, env: settings }

    expect(await runProgram(['migrate'], program)).toMatchObject({ code: 0 })
    expect(await runProgram(['worker', '--drain'], program)).toMatchObject({ code: 0 })

    expect(await rowsOf('select 1 from vitalsync.orders')).toEqual([])
    expect(await rowsOf("select state, failed::int, done::int from vitalsync.runs where kind = 'nightly'")).toEqual([
      { state: 'done', failed: 0, done: 3 },
    ])
    expect(await rowsOf('select 1 from vitalsync.parcels')).toEqual([])
    expect([...peer.logs.keys()]).toEqual(['22222222-2222-4222-8222-222222222222'])
  })
}
