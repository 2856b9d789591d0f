import { expect } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../config/streams.ts'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import type { PulledStream } from '../../src/pipeline/transfer/stream.ts'
import { placeNewTables } from '../../src/pipeline/warehouse/divided/distribute-tables.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { columnsOfView, readExportRows } from '../../src/pipeline/warehouse/reports/export-rows.ts'
import { json } from '../support/profile-stub.ts'
import { daysAgo, daysAgoMs } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'
import { openTestPool, testDivision } from '../support/test-pool.ts'

/** One entry. Its path, its query and its names are unlike those of any other stream. */
const moods: PulledStream = {
  name: 'moods',
  kind: 'windowed',
  operation: { name: 'moodsOf', method: 'GET', path: '/api/v1/diary/mood/{externalId}', caller: 'account' },
  query: ({ startMs, endMs }) => ({
    since: new Date(startMs).toISOString(),
    until: new Date(endMs).toISOString(),
    scale: 'five',
  }),
  schema: z.looseObject({ feltAt: z.string(), word: z.string() }),
  table: 'moods',
  windowMs: 15 * DAY,
  settleMs: 24 * HOUR,
  touchedBy: { tags: { beforeMs: DAY, afterMs: DAY } },
  startColumn: 'felt_at',
  columns: [
    { name: 'felt_at', type: 'instant', from: ['feltAt'], key: true },
    { name: 'word', type: 'text', from: ['word'], key: true },
    { name: 'strength', type: 'number', from: ['strength'] },
  ],
}

/** One table, the view by which analysts see it, and its row among the streams of warehouse.days. */
const table = `
  create table vitalsync.moods (
    profile_id bigint not null, felt_at timestamptz not null, word text collate "C" not null, local_date date,
    strength double precision, body text not null, digest bigint not null, read_at timestamptz not null,
    first_seen_at timestamptz not null, changed_at timestamptz not null, gone_at timestamptz,
    revision integer not null default 1, primary key (profile_id, felt_at, word));
  create view warehouse.moods as
    select p.external_id, r.felt_at, r.local_date, r.word, r.strength, r.body::jsonb as raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
    from vitalsync.moods r join vitalsync.profiles p on p.id = r.profile_id;
  insert into vitalsync.day_streams (stream, table_name, start_column, settle_ms) values ('moods', 'moods', 'felt_at', ${DAY});
  select vitalsync.define_days()`

/** One fixture. */
const calm = { feltAt: daysAgo(20), word: 'calm', strength: 3 }
const glad = { feltAt: daysAgo(10), word: 'glad', strength: 5, unheardOf: [1] }
const odd = { feltAt: daysAgo(9), strength: 1 }

test('a ninth stream of one entry, one table and one fixture goes the whole road', async ({
  open,
  peer,
  warehouseUrl,
}) => {
  // As `vitalsync migrate` does, before a process that knows the stream.
  const migrating = openTestPool(warehouseUrl)
  await migrating.query(table)
  await placeNewTables(migrating, expect.unreachable)
  await migrating.end()
  const line = await open('postgres', { HISTORY_DAYS: '30' }, { ...catalogue, pulled: [...catalogue.pulled, moods] })
  const [ada = ''] = await line.addProfiles('ada')
  peer.profiles.add('ada')
  let held: object[] = [calm, glad, odd]
  const { answer } = peer
  peer.answer = (seen) => (seen.path.startsWith('/api/v1/diary/') ? json(200, held) : answer(seen))
  const asked = () => peer.seen.filter(({ path }) => path.startsWith('/api/v1/diary/mood/ada?'))
  const stored = () =>
    line.rows('select word, strength, revision, gone_at is not null as gone from warehouse.moods order by 1')
  line.work()

  // Read as its row says, by window, with the account's token.
  await line.tick('nightly')
  await line.idle()
  const queries = asked().map(({ path }) => new URL(path, peer.url).searchParams)
  expect(queries).toHaveLength(3)
  expect(queries.map((query) => query.get('scale'))).toEqual(['five', 'five', 'five'])
  const lengths = queries.map((query) => Date.parse(query.get('until') ?? '') - Date.parse(query.get('since') ?? ''))
  expect(Math.max(...lengths)).toBeLessThanOrEqual(15 * DAY)
  expect(asked()[0]?.authorization).toMatch(/^account /)
  expect(await stored()).toEqual([
    { word: 'calm', strength: 3, revision: 1, gone: false },
    { word: 'glad', strength: 5, revision: 1, gone: false },
  ])
  const aside = await line.rows('select distinct stream, path from warehouse.quarantine')
  expect(aside).toEqual([{ stream: 'moods', path: 'word' }])

  // Covered up to its own settle time, and what has settled is not asked for again.
  const [ledger] = await line.rows(
    `select extract(epoch from now() - upper(covered)) / 3600 as hours from vitalsync.ledger where stream = 'moods'`,
  )
  expect(Number(ledger?.['hours'])).toBeGreaterThanOrEqual(24)
  expect(Number(ledger?.['hours'])).toBeLessThan(25)

  // Each day has its answer.
  const states = await line.rows(
    `select state, count(*)::int as days from warehouse.days where stream = 'moods' and local_date < $1 group by 1 order by 1`,
    [daysAgo(2)],
  )
  expect(states).toEqual([
    { state: 'data', days: 2 },
    { state: 'empty', days: 25 },
    { state: 'quarantined', days: 1 },
  ])

  // A record that changes keeps its former self, a record that vanishes is marked gone.
  held = [{ ...glad, strength: 4 }]
  const again = { from: daysAgoMs(29), to: daysAgoMs(2), streams: ['moods'], again: true }
  await line.tick('backfill', again)
  await line.idle()
  expect(await stored()).toEqual([
    { word: 'calm', strength: 3, revision: 2, gone: true },
    { word: 'glad', strength: 4, revision: 2, gone: false },
  ])
  const former = await line.rows(
    `select raw -> 'strength' as was from warehouse.history where stream = 'moods' order by 1`,
  )
  expect(former).toEqual([{ was: 3 }, { was: 5 }])

  // A push makes it due again as far as its row says.
  const item = { profileId: ada, stream: 'tags' as const, itemKey: 't', body: '{}' }
  await line.pipeline.outbox.add([{ ...item, startAtMs: daysAgoMs(12), endAtMs: daysAgoMs(12) }])
  const { outbox } = line.pipeline
  const { parcels } = await outbox.readWaiting(ada, 'tags')
  await outbox.markSent({ profileId: ada, stream: 'tags', parcels })
  const [hole] = await line.rows(
    `select not covered && tstzrange($1, $2) as due from vitalsync.ledger where stream = 'moods'`,
    [daysAgo(13), daysAgo(11)],
  )
  expect(hole).toEqual({ due: true })

  // It can be exported, and goes with its person.
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 1,
    name: 'export',
  })
  const columns = await columnsOfView(pool, moods)
  const extract = { stream: moods, columns, since: undefined, afterId: '0' }
  const exported: unknown[] = []
  for await (const page of readExportRows(pool, extract)) exported.push(...page.rows.map((row) => row[3]))
  await pool.end()
  expect(exported).toEqual(['calm', 'glad'])
  const context = { ...line.pipeline.context, lane: 'manual' as const, lastAttempt: false }
  await eraseProfile.run({ profileId: ada }, { ...context, signal: AbortSignal.timeout(120_000) })
  expect(await line.rows('select 1 from vitalsync.moods')).toEqual([])
  expect(await line.rows(`select 1 from vitalsync.history`)).toEqual([])
})
