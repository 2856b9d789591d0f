import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { examineMigrations } from '../../src/base/engines/examine-postgres.ts'
import { migrationsFolder } from '../../src/operations/migrate-warehouse.ts'
import { migrateService } from '../../src/service/store/migrate-service.ts'
import { test } from '../support/fixtures.ts'
import { runProgram } from '../support/run-program.ts'
import { openAsCommand } from '../support/test-pool.ts'
import { connect } from '../support/test-warehouse.ts'

/** A list of migrations, as versions before 0.1.0 left it. */
async function listUnreleased(databaseUrl: string, schema: string, name: string): Promise<void> {
  const client = await connect(databaseUrl)
  await client.query(`create schema ${schema};
    create table ${schema}.migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now());
    insert into ${schema}.migrations (name, checksum) values ('${name}', 'a checksum'), ('0042-parcels.sql', 'another one')`)
  await client.end()
}

const sentence = 'the database was made before 0.1.0, the first release, whose tables it lacks'
const cure = expect.stringContaining('`vitalsync export`')

test('migrate refuses a warehouse of the time before the first release, and says how to carry its data over', async ({
  database,
}) => {
  await listUnreleased(database, 'vitalsync', '0001-ledger.sql')

  const cwd = await mkdtemp(join(tmpdir(), 'unreleased-'))
  const { code, stderr } = await runProgram(['migrate'], { cwd, env: { DATABASE_URL: database } })

  expect(code).toBe(2)
  expect(stderr).toContain(`vitalsync: migrate schema vitalsync: ${sentence}\n`)
  for (const word of ['export', 'profiles import', 'import', 'sync']) expect(stderr).toContain(`\`vitalsync ${word}\``)
  const client = await connect(database)
  expect((await client.query('select to_regclass($1) as made', ['vitalsync.ledger'])).rows).toEqual([{ made: null }])
  await client.end()
})

test('commands and the doctor name the same cause and cure', async ({ database }) => {
  await listUnreleased(database, 'vitalsync', '0001-ledger.sql')

  await expect(openAsCommand(database)).rejects.toMatchObject({
    name: 'UsageProblem',
    message: `open warehouse: ${sentence}`,
    hint: cure,
  })
  const target = { subject: 'warehouse', databaseUrl: database, variable: 'DATABASE_URL' } as const
  expect(await examineMigrations({ ...target, folder: migrationsFolder, schema: 'vitalsync' })).toEqual([
    { subject: 'warehouse', state: 'wrong', text: sentence, hint: cure },
  ])
})

test('the service refuses its database of that time', async ({ database }) => {
  await listUnreleased(database, 'service', '0001-service.sql')

  await expect(migrateService(database)).rejects.toMatchObject({
    name: 'UsageProblem',
    message: `migrate schema service: ${sentence}`,
    hint: cure,
  })
})
