import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { HOUR } from '../../../../src/base/time/units.ts'
import { noCounts } from '../../../../src/pipeline/transfer/order.ts'
import { createFinisher, recordFailure } from '../../../../src/pipeline/warehouse/ledger/ended-jobs.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { openWarehousePool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { test } from '../../../support/fixtures.ts'
import { peopleNames } from '../../../support/insert-people.ts'
import { march, openTestWriter, scoreRecord, scoresReading, wantedFromMs } from '../../../support/test-warehouse.ts'

/** For everybody, as far as they are missing. */
const tagsAndRefusals = `
  insert into vitalsync.reading_tags
  select l.profile_id, l.stream, '2026-01-01', '2026-02-02', 't', 1, '[[],false]', now() from vitalsync.ledger l
  on conflict do nothing;
  insert into vitalsync.refusals (profile_id, stream, span, status, reason, attempts, first_at, last_at, next_try_at)
  select l.profile_id, l.stream, tstzrange('2026-03-01', '2026-03-02'), 404, 'x', 1, now(), now(), now() from vitalsync.ledger l
  on conflict do nothing`

/** Far fewer than the rows of the tables when the plans are used. */
const READ_MAX = 1000

test.for([
  { examined: false, of: 'tables that were never examined' },
  // To read a table of one page whole looks as cheap as to look a row up.
  { examined: true, of: 'tables of one page' },
])(
  'plans that were made for few people, on $of, look rows up when there are many',
  async ({ examined }, { warehouseUrl, skip }) => {
    skip(isDistributed, 'it asks one Postgres for all rows that were read')
    const pool = openWarehousePool({
      databaseUrl: warehouseUrl,
      connectionsMax: 1,
      name: 'test',
      pipeline: true,
    })
    const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })
    const outbox = createOutbox({ pool, catalogue, firstReadingMs: HOUR, now: Date.now })
    const writer = openTestWriter(pool)
    const finish = createFinisher({ pool, streams: catalogue.pulled.map(({ name }) => name), firstReadingMs: HOUR })
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
      const ended = { profileId, runId: '1', job: 'sync-profile', params: {}, begunAtMs: Date.now(), counts: noCounts }
      await finish(ended)
    }
    const orderAll = () =>
      pool.query(
        `insert into vitalsync.orders (run_id, profile_id, job, scope) select 1, id, 'sync-profile', '' from vitalsync.profiles
       on conflict do nothing`,
      )
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
    await pool.query("insert into vitalsync.runs (kind) values ('nightly')")
    await orderAll()
    await pool.query(tagsAndRefusals)
    if (examined) await pool.query('analyze')
    // A job that fails counts by the same statement: after some times Postgres keeps a plan.
    const failed = { profileId: '1', runId: '1', job: 'sync-profile', params: {}, begunAtMs: 0, counts: noCounts }
    for (let times = 0; times < 6; times += 1) await recordFailure(pool, failed, { reason: 'x', hint: undefined })
    await work('1', 0)
    await profiles.add(peopleNames(2000), added)
    await pool.query(tagsAndRefusals)
    await pool.query(
      `insert into vitalsync.failures (profile_id, job, reason, scope, first_at, last_at) select id, 'sync-profile', 'x', '', now(), now() from vitalsync.profiles`,
    )
    await pool.query(`insert into vitalsync.runs (kind, state) select 'nightly', 'done' from generate_series(1, 2000)`)
    await orderAll()

    const before = await reads()
    // The person whose rows come last in every index.
    await work((await profiles.findId('person-1999'))?.profileId ?? '', 10_000)
    const after = await reads()
    await writer.close()
    await pool.end()

    const readWhole = [...after].filter(([table, n]) => n - (before.get(table) ?? 0) > READ_MAX)
    expect(readWhole).toEqual([])
  },
)
