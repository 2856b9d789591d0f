import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { applyMigrations } from '../../../../src/base/engines/apply-migrations.ts'
import { distributeTables, placeNewTables } from '../../../../src/pipeline/warehouse/divided/distribute-tables.ts'
import { listTablePlaces, readShardCount } from '../../../../src/pipeline/warehouse/divided/distributed-tables.ts'
import { examineDistribution } from '../../../../src/pipeline/warehouse/divided/examine-distribution.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { test } from '../../../support/test-warehouse.ts'

test('each unique key of a table that may be divided contains the profile', async ({ warehouse }) => {
  const places = await listTablePlaces(warehouse.pool)
  const divided = places.filter(({ wanted }) => wanted === 'divided').map(({ table }) => table)

  expect(divided).toEqual(expect.arrayContaining(['profiles', 'ledger', 'scores', 'quarantine', 'parcels', 'history']))
  expect(
    await warehouse.rows(
      `select c.relname, i.indexrelid::regclass::text as index from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relnamespace = 'vitalsync'::regnamespace and c.relname = any($1) and i.indisunique and not exists (
         select from pg_attribute a where a.attrelid = c.oid and a.attnum = any(i.indkey)
           and a.attname = case c.relname when 'profiles' then 'id' else 'profile_id' end)`,
      [divided],
    ),
  ).toEqual([])
})

test('no foreign key refers from a table that stays whole to one that may be divided', async ({ warehouse }) => {
  const places = await listTablePlaces(warehouse.pool)

  expect(places.filter(({ hasKey, wantsKey }) => hasKey !== wantsKey)).toEqual([])
  expect(
    await warehouse.rows(
      `select k.conname from pg_constraint k
       where k.contype = 'f' and k.confrelid = 'vitalsync.profiles'::regclass and k.conrelid <> all($1::regclass[])`,
      [places.filter(({ wanted }) => wanted === 'divided').map(({ table }) => `vitalsync.${table}`)],
    ),
  ).toEqual([])
})

test('a new table gets its foreign key when the program has migrated', async ({ warehouse }) => {
  const { pool, rows } = warehouse
  const keys = `select conname from pg_constraint where conrelid = 'vitalsync.differences'::regclass and contype = 'f'`
  await rows('alter table vitalsync.differences drop constraint differences_profile_id_fkey')

  await placeNewTables(pool, () => undefined)

  expect(await rows(keys)).toEqual([{ conname: 'differences_profile_id_fkey' }])
})

test('no statement is compiled, which takes longer than to answer it', async ({ warehouse }) => {
  expect(await warehouse.rows('show jit')).toEqual([{ jit: 'off' }])
})

/** One that is asked by no view, and one with its row among the streams of `warehouse.days`, which each node knows. */
const laterMigration = `
  create table vitalsync.notes (profile_id bigint not null, word text not null, primary key (profile_id, word));
  create table vitalsync.moods (profile_id bigint not null, felt_at timestamptz not null, local_date date, body text not null,
    gone_at timestamptz, primary key (profile_id, felt_at));
  create view warehouse.moods as
    select p.external_id, r.felt_at from vitalsync.moods r join vitalsync.profiles p on p.id = r.profile_id;
  insert into vitalsync.day_streams (stream, table_name, start_column, settle_ms) values ('moods', 'moods', 'felt_at', 0);
  select vitalsync.define_days()`

test('a later version lays new tables of profiles beside the others', async ({
  warehouse,
  warehouseUrl,
  onTestFinished,
}) => {
  const { pool, rows } = warehouse
  const people = await warehouse.addProfiles('ada', 'bob', 'cyd')
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(new URL('../../../../src/pipeline/warehouse/migrations/', import.meta.url), folder, { recursive: true })
  await writeFile(join(folder, '9999-moods.sql'), laterMigration)

  await applyMigrations({ databaseUrl: warehouseUrl, folder: pathToFileURL(`${folder}/`), schema: 'vitalsync' })
  await placeNewTables(pool, () => undefined)

  const places = await listTablePlaces(pool)
  for (const table of ['notes', 'moods'])
    expect(places).toContainEqual(expect.objectContaining({ table, is: isDistributed ? 'divided' : 'whole' }))
  for (const profileId of people) {
    await rows(`insert into vitalsync.notes values ($1, 'a')`, [profileId])
    await rows(`insert into vitalsync.moods values ($1, now() - interval '3 days', null, '{}')`, [profileId])
  }
  expect(await rows('select 1 from vitalsync.notes n join vitalsync.profiles p on p.id = n.profile_id')).toHaveLength(3)
  expect(await rows('select external_id from warehouse.moods order by 1')).toEqual(
    ['ada', 'bob', 'cyd'].map((external_id) => ({ external_id })),
  )
  expect(await rows(`select 1 from warehouse.days where stream = 'moods'`)).toEqual([]) // nobody was asked yet
})

test('without the extension a warehouse is not divided, and there is nothing to examine', async ({
  warehouse,
  skip,
}) => {
  skip(isDistributed, 'this warehouse is divided, and its servers have the extension citus')
  const { pool } = warehouse

  await expect(distributeTables(pool, { shards: 8, say: () => undefined })).rejects.toMatchObject({
    message: 'distribute the warehouse: the database has no extension citus',
    hint: expect.stringContaining('create extension citus'),
  })
  expect(await readShardCount(pool)).toBeUndefined()
  expect(await examineDistribution(pool, 16)).toEqual([])
})
