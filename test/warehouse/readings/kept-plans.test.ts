import { expect } from 'vitest'
import { catalogue } from '../../../config/streams.ts'
import { HOUR } from '../../../src/time/units.ts'
import { createOutbox } from '../../../src/warehouse/outbox/outbox.ts'
import { openWarehousePool } from '../../../src/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../src/warehouse/profiles/stored-profiles.ts'
import { isDistributed } from '../../support/distributed-warehouse.ts'
import { test } from '../../support/fixtures.ts'
import { peopleNames } from '../../support/insert-people.ts'
import { march, openTestWriter, scoreRecord, scoresReading, wantedFromMs } from '../../support/test-warehouse.ts'

/** Far fewer than the rows of the tables when the plans are used. */
const READ_MAX = 1000

test('plans that are kept from when there were few people read no table and no index from end to end', async ({
  warehouseUrl,
  skip,
}) => {
  skip(isDistributed, 'it asks one Postgres for all rows that were read')
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    bucketCount: 1,
    connectionsMax: 1,
    name: 'test',
    pipeline: true,
  })
  const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })
  const outbox = createOutbox({ pool, catalogue, firstReadingMs: HOUR })
  const writer = openTestWriter(pool)
  const sentAtMs = Date.now() - 60_000
  const parcels = [
    {
      id: '1',
      body: '',
      bytes: 0,
      sizes: '',
      takenOut: [],
      waiting: 1,
      mode: 'patch' as const,
      startAtMs: Date.parse(march(2)),
      endAtMs: Date.parse(march(3)),
    },
  ]
  const work = async (profileId: string, at: number) => {
    for (const value of [0.1, 0.2])
      await writer.store(
        scoresReading({
          profileId,
          sentAtMs: sentAtMs + at + value * 1000,
          tag: `"${at}${value}"`,
          records: [scoreRecord({ scoreDateTime: march(2), value })],
        }),
      )
    await outbox.markSent({ profileId, stream: 'data-logs', parcels })
  }
  const reads = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ relname: string; n: number }>(
      `select relname, (seq_tup_read + coalesce((select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0))::float8 as n
       from pg_stat_user_tables t`,
    )
    return new Map(rows.map(({ relname, n }) => [relname, n]))
  }
  const added = { wantedFrom: new Date(wantedFromMs), state: 'active' as const }
  await profiles.add(peopleNames(3), added)
  await work('1', 0)
  await profiles.add(peopleNames(2000), added)
  await pool.query(
    `insert into vitalsync.reading_tags select id, 'trends', '2026-01-01', '2026-02-02', 't', 1, '[[],false]', now() from vitalsync.profiles`,
  )
  await pool.query(
    `insert into vitalsync.refusals (profile_id, stream, span, status, reason, attempts, first_at, last_at, next_try_at) select id, 'trends', tstzrange('2026-03-01','2026-03-02'), 404, 'x', 1, now(), now(), now() from vitalsync.profiles`,
  )

  const before = await reads()
  // The person whose rows come last in every index.
  await work((await profiles.findId('person-1999'))?.profileId ?? '', 10_000)
  const after = await reads()
  await writer.close()
  await pool.end()

  const readWhole = [...after].filter(([table, n]) => n - (before.get(table) ?? 0) > READ_MAX)
  expect(readWhole).toEqual([])
})
