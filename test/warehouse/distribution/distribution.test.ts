import { expect } from 'vitest'
import { distributeTables, placeNewTables } from '../../../src/warehouse/distribution/distribute-tables.ts'
import { listTablePlaces, readShardCount } from '../../../src/warehouse/distribution/distributed-tables.ts'
import { examineDistribution } from '../../../src/warehouse/distribution/examine-distribution.ts'
import { distributedUrl } from '../../support/distributed-warehouse.ts'
import { test } from '../../support/test-warehouse.ts'

/** On a cluster: `npm run citus`. */
const onPlainPostgres = test.skipIf(distributedUrl !== undefined)

onPlainPostgres('each unique key of a table that may be divided contains the profile', async ({ warehouse }) => {
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

onPlainPostgres(
  'no foreign key refers from a table that stays whole to one that may be divided',
  async ({ warehouse }) => {
    const places = await listTablePlaces(warehouse.pool)

    expect(places.filter(({ hasKey, wantsKey }) => hasKey !== wantsKey)).toEqual([])
    expect(
      await warehouse.rows(
        `select k.conname from pg_constraint k
       where k.contype = 'f' and k.confrelid = 'vitalsync.profiles'::regclass and k.conrelid <> all($1::regclass[])`,
        [places.filter(({ wanted }) => wanted === 'divided').map(({ table }) => `vitalsync.${table}`)],
      ),
    ).toEqual([])
  },
)

onPlainPostgres('a new table gets its foreign key when the program has migrated', async ({ warehouse }) => {
  const { pool, rows } = warehouse
  const keys = `select conname from pg_constraint where conrelid = 'vitalsync.differences'::regclass and contype = 'f'`
  await rows('alter table vitalsync.differences drop constraint differences_profile_id_fkey')

  await placeNewTables(pool, () => undefined)

  expect(await rows(keys)).toEqual([{ conname: 'differences_profile_id_fkey' }])
})

onPlainPostgres(
  'without the extension a warehouse is not divided, and there is nothing to examine',
  async ({ warehouse }) => {
    const { pool } = warehouse

    await expect(distributeTables(pool, { shards: 8, say: () => undefined })).rejects.toMatchObject({
      message: 'distribute the warehouse: the database has no extension citus',
      hint: expect.stringContaining('create extension citus'),
    })
    expect(await readShardCount(pool)).toBeUndefined()
    expect(await examineDistribution(pool, 16)).toEqual([])
  },
)
