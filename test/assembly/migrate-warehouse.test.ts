import pg from 'pg'
import { expect } from 'vitest'
import { migrationsFolder, requireMigrated } from '../../src/assembly/migrate-warehouse.ts'
import { readMigrations } from '../../src/engines/apply-migrations.ts'
import { test } from '../support/fixtures.ts'

test('a warehouse that lacks any migration of this version is refused', async ({ warehouseUrl, database }) => {
  await requireMigrated(warehouseUrl)
  await expect(requireMigrated(database)).rejects.toThrow(/older than this version/)

  const names = (await readMigrations(migrationsFolder)).map(({ name }) => name)
  const client = new pg.Client({ connectionString: warehouseUrl })
  await client.connect()
  const list = async (change: string, value: string | undefined) => client.query(change, [value])
  for (const name of [names.at(-1), names.at(2)]) {
    await list('delete from vitalsync.migrations where name = $1', name)
    await expect(requireMigrated(warehouseUrl), name).rejects.toThrow(/older than this version/)
    await list(`insert into vitalsync.migrations (name, checksum) values ($1, '')`, name)
  }
  await list(`insert into vitalsync.migrations (name, checksum) values ($1, '')`, '9999-of-a-newer-version.sql')
  await requireMigrated(warehouseUrl)
  await client.end()
})
