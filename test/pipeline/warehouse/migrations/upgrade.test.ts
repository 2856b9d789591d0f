import { readFile } from 'node:fs/promises'
import type pg from 'pg'
import { expect } from 'vitest'
import { applyMigrations } from '../../../../src/base/engines/apply-migrations.ts'
import { migrationsFolder } from '../../../../src/operations/migrate-warehouse.ts'
import { migrateService } from '../../../../src/service/store/migrate-service.ts'
import { test, within } from '../../../support/fixtures.ts'
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

async function migrate(databaseUrl: string): Promise<void> {
  await applyMigrations({ databaseUrl, folder: migrationsFolder, schema: 'vitalsync' })
  await migrateService(databaseUrl)
}

test('a database of 0.1.0 that this version migrates has what a new database has', async ({ database }) => {
  await within('template0', async (newDatabase) => {
    const [old, fresh] = await Promise.all([connect(database), connect(newDatabase)])
    await old.query(await readFile(new URL('fixtures/0.1.0.sql', import.meta.url), 'utf8'))

    await migrate(database)
    await migrate(newDatabase)

    const expected = await catalogOf(fresh)
    expect(expected.length).toBeGreaterThan(500)
    expect(await catalogOf(old)).toEqual(expected)
    await Promise.all([old.end(), fresh.end()])
  })
})
