import { cp, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { catalogue } from '../../../config/streams.ts'
import { migrateWarehouse, migrationsFolder } from '../../../src/assembly/migrate-warehouse.ts'
import { applyMigrations } from '../../../src/engines/apply-migrations.ts'
import { READER_ROLE } from '../../../src/warehouse/postgres/reader-role.ts'
import { openWarehousePool } from '../../../src/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../src/warehouse/profiles/stored-profiles.ts'
import { test } from '../../support/fixtures.ts'
import { connect } from '../../support/test-warehouse.ts'

/** The migrations before days were found by an index. */
async function formerMigrations(): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'former-migrations-'))
  const files = await readdir(migrationsFolder)
  for (const name of files.filter((file) => file < '0081')) {
    await cp(join(fileURLToPath(migrationsFolder), name), join(folder, name))
  }
  return pathToFileURL(`${folder}/`)
}

test('a warehouse of an older version has the days of its records after migrating, and its readers read them', async ({
  database,
  onTestFinished,
}) => {
  await applyMigrations({ databaseUrl: database, folder: await formerMigrations(), schema: 'vitalsync' })
  const client = await connect(database)
  onTestFinished(() => client.end())
  const life = 'digest, read_at, first_seen_at, changed_at, body) select id, '
  await client.query(
    `insert into vitalsync.profiles (external_id, wanted_from, state) values ('o''neil "x"', now() - interval '30 days', 'active');
     insert into vitalsync.ledger (profile_id, stream, read_at) select id, unnest(array['biomarkers', 'scores']), now() from vitalsync.profiles`,
  )
  const start = `date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '10 days'`
  await client.query(
    `insert into vitalsync.biomarkers (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time, local_date,
       value, ${life} ${start} + interval '18 hours', 'sleep_duration', '', 'daily', 'total', ${start} + interval '30 hours',
       (${start})::date, '431', 1, now(), now(), now(), format('{"startDateTime": "%sT18:00:00Z"}', (${start})::date) from vitalsync.profiles`,
  )
  await client.query(
    `insert into vitalsync.scores (profile_id, score_date_time, type, local_date, value, ${life} ${start}, 'sleep', (${start})::date, 0.5,
       1, now(), now(), now(), '{}' from vitalsync.profiles`,
  )
  const answers = async () =>
    (
      await client.query(
        `select (select json_agg(d order by local_date) from warehouse.person_days d) as person_days,
           (select json_agg(d order by stream, local_date) from warehouse.days d where state = 'data') as days,
           (select json_agg(d order by local_date) from warehouse.seven_day_means d) as means`,
      )
    ).rows[0]
  const before = await answers()
  expect(before.person_days).toHaveLength(2)

  const { applied } = await migrateWarehouse({ databaseUrl: database, bucketCount: 1 }, () => undefined)
  expect(applied).toContain('0085-days-by-index.sql')
  expect(await answers()).toEqual(before)
  const { rows } = await client.query('select counts_for - local_date as after from vitalsync.biomarkers')
  expect(rows).toEqual([{ after: 1 }])

  await client.query(
    `do $$ begin create role ${READER_ROLE}; exception when duplicate_object or unique_violation then null; end $$`,
  )
  await migrateWarehouse({ databaseUrl: database, bucketCount: 1 }, () => undefined)
  await client.query(`set role ${READER_ROLE}`)
  expect(await answers()).toEqual(before)
})

test('people of an older version keep their ids and names, and the ids of the erased are not given again', async ({
  database,
  onTestFinished,
}) => {
  await applyMigrations({ databaseUrl: database, folder: await formerMigrations(), schema: 'vitalsync' })
  const client = await connect(database)
  onTestFinished(() => client.end())
  await client.query(`insert into vitalsync.profiles (external_id, wanted_from) select x, now() from unnest(array['ada', 'bob', 'eve']) x;
    delete from vitalsync.profiles where external_id in ('ada', 'eve')`)
  await client.query(`insert into vitalsync.tokens (account, profile_id) values ('a', 2)`)
  await migrateWarehouse({ databaseUrl: database, bucketCount: 1 }, () => undefined)
  const pool = openWarehousePool({ databaseUrl: database, bucketCount: 1, connectionsMax: 1, name: 'test' })
  onTestFinished(() => pool.end())
  const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })

  const added = await profiles.add(['bob', 'zoe'], { wantedFrom: new Date(), state: 'active' })

  expect(added).toEqual({ added: 1, known: 1, erased: 0 })
  expect(await profiles.findId('bob')).toEqual({ profileId: '2' })
  expect(Number((await profiles.findId('zoe'))?.profileId)).toBeGreaterThan(3)
  await profiles.erase('2')
  const left = await client.query('select from vitalsync.tokens')
  expect(left.rows).toEqual([])
})

test('without anybody every view is empty', async ({ warehouseUrl, onTestFinished }) => {
  const client = await connect(warehouseUrl)
  onTestFinished(() => client.end())
  const { rows } = await client.query(
    `select table_name as name from information_schema.views where table_schema = 'warehouse'`,
  )
  for (const { name } of rows) expect((await client.query(`select * from warehouse.${name}`)).rows, name).toEqual([])
})
