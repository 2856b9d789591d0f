import { expect } from 'vitest'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { test, type Warehouse } from '../../../support/test-warehouse.ts'

const PEOPLE = 400
const DAYS = 90

/** Scores and daily biomarkers of many people, by one statement each. */
async function fill({ pool, rows }: Warehouse, people = PEOPLE): Promise<void> {
  await insertPeople(pool, peopleNames(people), { wanted_from: `now() - interval '${DAYS} days'`, state: `'active'` })
  await rows(
    `insert into vitalsync.ledger (profile_id, stream, covered, read_at)
     select p.id, s.stream, tstzmultirange(tstzrange(p.wanted_from, now() - interval '80 hours')), now()
     from vitalsync.profiles p, vitalsync.day_streams s`,
  )
  const day = `from vitalsync.profiles p join vitalsync.calendar d
      on d.day between (now() at time zone 'UTC')::date - ${DAYS} and (now() at time zone 'UTC')::date - 1,
    unnest($1::text[]) t order by p.id, d.day`
  await rows(
    `insert into vitalsync.scores (profile_id, score_date_time, type, local_date, value, digest, read_at, first_seen_at, changed_at, body)
     select p.id, d.day::timestamp at time zone 'UTC', t, d.day, 0.5, 1, now(), now(), now(), '{"factors":[]}' ${day}`,
    [['sleep', 'activity']],
  )
  await rows(
    `insert into vitalsync.biomarkers (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time,
       local_date, value, digest, read_at, first_seen_at, changed_at, body)
     select p.id, d.day::timestamp at time zone 'UTC', t, 'c', 'daily', 'total', (d.day + 1)::timestamp at time zone 'UTC', d.day,
       '5', 1, now(), now(), now(), format('{"startDateTime":"%sT00:00:00+00:00"}', d.day) ${day}`,
    [['steps', 'sleep_duration', 'weight', 'active_hours']],
  )
  await rows(
    `insert into vitalsync.empty_days (profile_id, stream, local_date, cause, evidence, computed_at)
     select p.id, t, d.day, 'nothing_sent', '{}', now() ${day}`,
    [['comparisons', 'archetypes', 'trends']],
  )
}

type PlanNode = { 'Node Type': string; 'Relation Name'?: string; 'Actual Loops'?: number; Plans?: PlanNode[] }
type Explained = {
  Plan: PlanNode & { 'Shared Hit Blocks': number; 'Shared Read Blocks': number; 'Actual Rows': number }
}

async function explain({ rows }: Warehouse, text: string) {
  const [row] = await rows(`explain (analyze, buffers, timing off, format json) ${text}`)
  const [{ Plan: plan }] = Object(row)['QUERY PLAN'] as [Explained]
  const nodes = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)]
  const scanned = nodes(plan).flatMap((node) =>
    node['Node Type'].includes('Seq Scan') && node['Actual Loops'] !== 0 ? [node['Relation Name']] : [],
  )
  const loopsMax = Math.max(...nodes(plan).map((node) => node['Actual Loops'] ?? 0))
  return {
    loopsMax,
    blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'],
    rows: plan['Actual Rows'],
    scanned,
  }
}

const recordTables = ['scores', 'biomarkers', 'ledger', 'calendar', 'empty_days']
const sixtyDays = `local_date between (now() at time zone 'UTC')::date - 60 and (now() at time zone 'UTC')::date - 1`

test('a question about one person reads that person’s rows, and one about a day that day’s', {
  timeout: 120_000,
}, async ({ warehouse }) => {
  await fill(warehouse)
  await warehouse.rows('analyze')

  const person = await explain(
    warehouse,
    `select * from warehouse.days where external_id = 'person-7' and ${sixtyDays}`,
  )
  expect(person.rows).toBe(60 * 8)
  expect(person.scanned.filter((table) => recordTables.includes(String(table)))).toEqual([])
  expect(person.blocks).toBeLessThan(4500)

  for (const view of [
    'person_days',
    'seven_day_means',
    'score_drivers',
    'archetype_days',
    'scores_now',
    'biomarkers_now',
  ]) {
    const one = await explain(
      warehouse,
      `select * from warehouse.${view} where external_id = 'person-7' and ${sixtyDays}`,
    )
    expect(
      one.scanned.filter((table) => recordTables.includes(String(table))),
      view,
    ).toEqual([])
    expect(one.blocks, view).toBeLessThan(8000)
  }
  for (const view of ['archetype_transitions', 'streaks', 'score_changes', 'coverage', 'completeness', 'freshness']) {
    const one = await explain(warehouse, `select * from warehouse.${view} where external_id = 'person-7'`)
    expect(
      one.scanned.filter((table) => recordTables.includes(String(table))),
      view,
    ).toEqual([])
    expect(one.blocks, view).toBeLessThan(500)
  }
  const whole = await explain(warehouse, `select * from warehouse.days where external_id = 'person-7'`)
  expect(whole.scanned.filter((table) => recordTables.includes(String(table)))).toEqual([])
  expect(whole.blocks).toBeLessThan(8000)
  for (const [view, blocksMax] of [
    ['person_days', 25],
    ['seven_day_means', 60],
  ] as const) {
    const day = await explain(
      warehouse,
      `select * from warehouse.${view} where local_date = (now() at time zone 'UTC')::date - 1`,
    )
    expect(day.rows, view).toBe(PEOPLE)
    expect(
      day.scanned.filter((table) => ['scores', 'biomarkers'].includes(String(table))),
      view,
    ).toEqual([])
    expect(day.blocks / PEOPLE, view).toBeLessThan(blocksMax)
  }

  const yesterday = await explain(
    warehouse,
    `select * from warehouse.days where local_date = (now() at time zone 'UTC')::date - 1`,
  )
  expect(yesterday.rows).toBe(PEOPLE * 8)
  expect(yesterday.scanned).not.toEqual(
    expect.arrayContaining([expect.toBeOneOf(['scores', 'biomarkers', 'calendar'])]),
  )
  expect(yesterday.blocks / PEOPLE).toBeLessThan(45)
})

test('all days of everybody take a bounded multiple of a plain scan of their records', {
  timeout: 120_000,
}, async ({ warehouse }) => {
  await fill(warehouse)
  await warehouse.rows('analyze')
  const { pool } = warehouse
  const db = await pool.connect()
  const leastMs = async (text: string) => {
    const times: number[] = []
    for (let n = 0; n < 5; n += 1) {
      const { rows } = await db.query(`explain (analyze, timing off, format json) ${text}`)
      const [{ 'Execution Time': ms }] = Object(rows[0])['QUERY PLAN'] as [{ 'Execution Time': number }]
      times.push(ms)
    }
    return Math.min(...times)
  }
  await db.query('set max_parallel_workers_per_gather = 0')
  const scans = await Promise.all(
    ['scores', 'biomarkers'].map((table) =>
      leastMs(`select count(*), max(value), max(local_date) from vitalsync.${table}`),
    ),
  )
  const all = await leastMs('table warehouse.person_days')
  db.release()
  expect(all / scans.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(20)
})

test('days that are joined with people begin with the people, before Postgres knows how many there are', async ({
  warehouse,
}) => {
  await fill(warehouse, 3)
  const strangers = await explain(
    warehouse,
    `with child as (select external_id from warehouse.days where external_id is not null),
       parent as (select distinct external_id from warehouse.coverage)
     select child.external_id from child left join parent using (external_id) where parent.external_id is null`,
  )
  expect(strangers.rows).toBe(0)
  expect(strangers.loopsMax).toBeLessThan(5000)
})
