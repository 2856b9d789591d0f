import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { DAY } from '../../../../src/base/time/units.ts'
import { createReader, grantReaderRole, READER_ROLE } from '../../../../src/pipeline/warehouse/reports/reader-role.ts'
import { isDistributed } from '../../../support/distributed-warehouse.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import {
  connect,
  march,
  marchMs,
  scoreRecord,
  scoresReading,
  test,
  wantedFromMs,
} from '../../../support/test-warehouse.ts'

const life = ['raw', 'first_seen_at', 'changed_at', 'gone_at', 'revision']
const face = {
  scores: ['external_id', 'type', 'value', 'state', 'created_at', 'factors', 'score_date_time', 'version', ...life],
  biomarkers: ['external_id', 'category', 'type', 'periodicity', 'aggregation', 'value', 'unit', 'value_type', ...life],
  archetypes: ['external_id', 'name', 'value', 'data_type', 'ordinality', 'periodicity', ...life],
  trends: ['external_id', 'category', 'name', 'state', 'is_higher_better', 'trend_start_date_time', 'data', ...life],
  comparisons: ['external_id', 'category', 'name', 'value', 'unit', 'is_higher_better', 'data', ...life],
  tags: ['external_id', 'type', 'name', 'category', 'value', 'source', 'start_date_time', 'end_date_time', ...life],
  demographics: ['external_id', 'age', 'gender', 'birth_date', 'country', ...life],
  device_information: ['external_id', 'sdk_id', 'device_type', 'system', 'time_zone', ...life],
  coverage: ['external_id', 'stream', 'covered', 'checkpoint'],
  runs: ['id', 'kind', 'state'],
  quarantine: ['external_id', 'stream', 'reason', 'body'],
}

test('the public face has the names it promises, and a comment on every view and column', async ({ warehouse }) => {
  const columns = await warehouse.rows(
    `select table_name, array_agg(column_name::text) as names from information_schema.columns
     where table_schema = 'warehouse' group by 1`,
  )
  const byView = new Map(columns.map((row) => [row['table_name'], row['names']]))

  for (const [view, names] of Object.entries(face)) {
    expect(byView.get(view), view).toEqual(expect.arrayContaining(names))
  }
  const mute = await warehouse.rows(
    `select relname from pg_class where relnamespace = 'warehouse'::regnamespace and obj_description(oid) is null`,
  )
  expect(mute).toEqual([])
  const muteColumns = await warehouse.rows(
    `select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'warehouse'::regnamespace and a.attnum > 0 and col_description(c.oid, a.attnum) is null`,
  )
  expect(muteColumns).toEqual([])
  const docs = await readFile(new URL('../../../../docs/reference/warehouse.md', import.meta.url), 'utf8')
  for (const view of byView.keys()) expect(docs).toContain(`\`${view}\``)
})

test('without anybody every view is empty', async ({ warehouse: { rows } }) => {
  const views = await rows(`select table_name as name from information_schema.views where table_schema = 'warehouse'`)
  expect(views.length).toBeGreaterThan(30)
  for (const { name } of views) expect(await rows(`select * from warehouse.${name}`), String(name)).toEqual([])
})

test('an audit that a migration drops and creates is closed to each reader of the views', async ({ warehouse }) => {
  const { pool, rows } = warehouse
  const role = `analyst_${randomUUID().slice(0, 8)}`
  await createReader(pool, role)
  const mayRead = async () => {
    const reads = (view: string) => `has_table_privilege('${role}', 'warehouse.${view}', 'select')`
    const [may] = await rows(`select ${reads('audit')} as audit, ${reads('days')} as days`)
    return may
  }
  await rows('drop view warehouse.audit')
  await rows('create view warehouse.audit as select at, who from vitalsync.audit')
  expect(await mayRead()).toEqual({ audit: true, days: true })

  await grantReaderRole(pool)

  expect(await mayRead()).toEqual({ audit: false, days: true })
  await rows(`drop owned by ${role}`)
  await rows(`drop role ${role}`)
})

test('the reader sees the views and nothing else', async ({ warehouse, warehouseUrl, onTestFinished }) => {
  const { pool, rows } = warehouse
  await rows(
    `do $$ begin create role ${READER_ROLE}; exception when duplicate_object or unique_violation then null; end $$`,
  )
  expect(await grantReaderRole(pool)).toBe(true)

  const tx = await connect(warehouseUrl)
  onTestFinished(() => tx.end())
  await tx.query(`set role ${READER_ROLE}`)
  const { rows: views } = await tx.query(
    `select table_name as name from information_schema.views where table_schema = 'warehouse'`,
  )
  expect(views.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(face)))
  for (const { name } of views) await tx.query(`select * from warehouse.${name}`)
  const denied = { code: '42501' }
  const read = (table: string) => tx.query(`select * from vitalsync.${table}`)
  const divided = ['profiles', 'scores', 'parcels', 'items']
  // The nodes are asked as the role itself, not as the owner of a view.
  if (isDistributed) for (const table of divided) await read(table)
  for (const table of ['tokens', 'secrets', 'tombstones', 'audit', ...(isDistributed ? [] : divided)]) {
    await expect(read(table), table).rejects.toMatchObject(denied)
  }
  await expect(tx.query('create table warehouse.mine ()')).rejects.toMatchObject(denied)
})

test('values stand in the views as upstream sent them', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const raw =
    '{"type":"sleep","scoreDateTime":"2026-03-02T00:00:00+12:00","score":0.123456789012345678,"createdAtUtc":"2026-03-02T01:02:03.456789Z","version":3}'
  await warehouse.writer.store({
    ...scoresReading({ profileId: ada, sentAtMs: warehouse.startedAtMs, records: [] }),
    records: [{ raw, fields: JSON.parse(raw) }],
  })

  const [row] = await warehouse.rows(
    `select external_id, value, raw ->> 'score' as exact, version, local_date::text, created_at::text from warehouse.scores`,
  )
  expect(row).toEqual({
    external_id: 'ada',
    value: Number('0.123456789012345678'),
    exact: '0.123456789012345678',
    version: '3',
    local_date: '2026-03-02',
    created_at: '2026-03-02 01:02:03.456789+00',
  })
})

test('a night, its score and a night that did not fit have one local date: the day on which the night ends', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const window = { startMs: marchMs(1) - 86_400_000, endMs: marchMs(9) }
  const score = scoreRecord({ scoreDateTime: march(2, '00:00:00+02:00') })
  await writer.store(scoresReading({ profileId: ada, window, sentAtMs, records: [score] }))
  const night = (periodicity: string) => ({
    ...{ type: 'sleep_duration', category: 'sleep', periodicity, aggregation: 'total', value: '431' },
    startDateTime: march(1, '18:00:00+02:00'),
    endDateTime: march(2, '17:59:59+02:00'),
  })
  const unfit = { path: 'value', reason: 'missing', raw: JSON.stringify({ ...night('daily'), value: null }) }
  const nights = scoresReading({
    ...{ profileId: ada, stream: streamByName('biomarkers'), window, sentAtMs },
    records: ['daily', 'intraday'].map(night),
  })
  await writer.store({ ...nights, invalid: [unfit] })

  const dates = await rows(`select 'score' as of, local_date::text as day from warehouse.scores
    union all select periodicity, local_date::text from warehouse.biomarkers
    union all select 'unfit', local_date::text from vitalsync.quarantine order by 1`)
  expect(dates).toEqual(['daily', 'intraday', 'score', 'unfit'].map((of) => ({ of, day: '2026-03-02' })))
})

test('analysts find days, means, drivers, transitions and streaks ready', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs: sentAtMs } = warehouse
  const window = { startMs: marchMs(1) - 86_400_000, endMs: marchMs(9) }
  const factors = [
    { name: 'steps', value: 4000, goal: 10000, score: 0.4, state: 'low', unit: 'count' },
    { name: 'active_hours', value: 12, goal: 12, score: 1, state: 'high', unit: 'hour' },
  ]
  const days = [1, 2, 3, 5].map((day) => scoreRecord({ scoreDateTime: march(day), value: day / 10, factors }))
  await writer.store(scoresReading({ profileId: ada, window, sentAtMs, records: days }))
  const night = {
    type: 'sleep_duration',
    category: 'sleep',
    periodicity: 'daily',
    aggregation: 'total',
    value: '431',
    startDateTime: march(1, '18:00:00+02:00'),
    endDateTime: march(2, '17:59:59+02:00'),
  }
  const odd = { ...night, type: 'steps', value: 'many', startDateTime: march(2), endDateTime: march(2, '23:59:59Z') }
  await writer.store(
    scoresReading({ profileId: ada, stream: streamByName('biomarkers'), window, sentAtMs, records: [night, odd] }),
  )
  const archetype = (day: number, value: string, ordinality: number) => ({
    name: 'activity_level',
    periodicity: 'weekly',
    dataType: 'ordinal',
    value,
    ordinality,
    startDateTime: march(day),
    endDateTime: march(day + 1),
  })
  const archetypes = [archetype(1, 'sedentary', 0), archetype(3, 'sedentary', 0), archetype(5, 'lightly_active', 1)]
  await writer.store(
    scoresReading({ profileId: ada, stream: streamByName('archetypes'), window, sentAtMs, records: archetypes }),
  )

  expect(
    await rows('select local_date::text as day, sleep, sleep_duration, steps from warehouse.person_days order by 1'),
  ).toEqual([
    { day: '2026-03-01', sleep: 0.1, sleep_duration: null, steps: null },
    { day: '2026-03-02', sleep: 0.2, sleep_duration: 431, steps: null },
    { day: '2026-03-03', sleep: 0.3, sleep_duration: null, steps: null },
    { day: '2026-03-05', sleep: 0.5, sleep_duration: null, steps: null },
  ])
  const [latest] = await rows('select days::int, sleep from warehouse.seven_day_means order by local_date desc limit 1')
  expect(latest).toEqual({ days: 4, sleep: (0.1 + 0.2 + 0.3 + 0.5) / 4 })
  expect(
    await rows('select factor, factor_score from warehouse.score_drivers where weakest_first = 1 limit 1'),
  ).toEqual([{ factor: 'steps', factor_score: 0.4 }])
  expect(await rows('select from_value, to_value, direction from warehouse.archetype_transitions')).toEqual([
    { from_value: 'sedentary', to_value: 'lightly_active', direction: 'up' },
  ])
  expect(await rows('select since::text, until::text, days from warehouse.streaks order by 1')).toEqual([
    { since: '2026-03-01', until: '2026-03-03', days: 3 },
    { since: '2026-03-05', until: '2026-03-05', days: 1 },
  ])
  expect(
    await rows(
      `select local_date::text as day, value from warehouse.archetype_days where value = 'sedentary' order by 1`,
    ),
  ).toEqual([
    { day: '2026-03-01', value: 'sedentary' },
    { day: '2026-03-03', value: 'sedentary' },
  ])
  expect(await rows(`select type, value_number from warehouse.biomarkers_now order by 1`)).toEqual([
    { type: 'sleep_duration', value_number: 431 },
    { type: 'steps', value_number: null },
  ])
  const [part] = await rows(
    `select share_covered::float8, missing::text from warehouse.completeness where stream = 'scores'`,
  )
  expect(Number(part?.['share_covered'])).toBeCloseTo((9 * DAY) / (Date.now() - wantedFromMs), 6)
  const [fresh] = await rows(`select last_read_at, covered_to from warehouse.freshness where stream = 'scores'`)
  expect(fresh).toEqual({ last_read_at: new Date(sentAtMs), covered_to: new Date(march(9)) })
})

test('each change of a score is listed with before, after, when and how late', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { writer, rows, startedAtMs } = warehouse
  const read = (sentAtMs: number, values: readonly number[]) => {
    const records = values.map((value, index) => scoreRecord({ scoreDateTime: march(index + 1), value }))
    const window = { startMs: marchMs(1), endMs: marchMs(9) }
    return writer.store(scoresReading({ profileId: ada, window, sentAtMs, records }))
  }
  await read(startedAtMs - 3000, [0.1, 0.2])
  await read(startedAtMs - 2000, [0.1, 0.5])
  await read(startedAtMs - 1000, [0.1, 0.7])

  const changes = await rows(
    `select type, local_date::text as day, value_before, value_after, changed_at, extract(epoch from changed_after)::float8 * 1000 as late
     from warehouse.score_changes where external_id = 'ada' order by changed_at`,
  )
  const changedAt = [startedAtMs - 2000, startedAtMs - 1000]
  expect(changes).toEqual([
    { type: 'sleep', day: '2026-03-02', value_before: 0.2, value_after: 0.5, ...changed(changedAt[0]) },
    { type: 'sleep', day: '2026-03-02', value_before: 0.5, value_after: 0.7, ...changed(changedAt[1]) },
  ])
  await rows(`set time zone 'Asia/Tokyo'`)
  expect(await rows('select 1 from warehouse.score_changes')).toHaveLength(2)
})

const changed = (atMs = 0) => ({ changed_at: new Date(atMs), late: atMs - marchMs(2) })
