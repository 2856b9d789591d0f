import pg from 'pg'
import { pulledStreams } from '../../config/streams.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createReader, READER_ROLE } from '../../src/pipeline/warehouse/reports/reader-role.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { testDivision } from '../support/test-pool.ts'
import { cannedBody, pulledNames } from './canned.ts'
import { streamOf } from './tables.ts'

const DAY = 86_400_000
export const ledgerDays = 90
/** One person in this many has records: the map is drawn from the ledger, and a person's page needs values. */
const recordsOfEach = 100
const CANNED_DAYS = 30

/**
 * A warehouse as years of work leave it: each person's eight streams were read up to now, one in twenty has a hole, one in fifty was
 * refused, one in a hundred has records in quarantine, one in two hundred was never read, and one in twenty has gone silent.
 */
export async function fillLedger(databaseUrl: string, people: number): Promise<void> {
  await migrateWarehouse(databaseUrl, () => undefined)
  const pool = openWarehousePool({
    databaseUrl,
    division: testDivision,
    connectionsMax: 1,
    name: 'bench',
    statementTimeoutMs: 600_000,
  })
  await createReader(pool, READER_ROLE)
  await pool.end()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("set timezone = 'UTC'")
  await insertPeople(client, peopleNames(people, 'person-', 6), {
    wanted_from: daysAgo(ledgerDays),
    state: `'active'`,
    due_at: `now() + interval '1 day'`,
    finished_at: 'now()',
  })
  for (const statement of statementsOf()) await client.query(statement.text, statement.values())
  for (const name of pulledNames)
    for (let part = 0; part < ledgerDays / CANNED_DAYS; part++) await fillRecords(client, name, part)
  await client.query('vacuum analyze')
  await client.end()
}

const daysAgo = (sql: string | number) => `(date_trunc('day', now()) - ${sql} * interval '1 day')`

type Statement = { readonly text: string; values(): unknown[] }

/** People, ledger, refused windows, quarantined records, runs: in the shapes that a worker leaves. */
function statementsOf(): Statement[] {
  const streams = pulledStreams.map(({ name }) => name)
  return [
    {
      text: `insert into vitalsync.ledger (profile_id, stream, covered, read_at)
        select p.id, s.stream,
          case when p.id % 200 = 7 then '{}'
            when p.id % 20 = 3 then tstzmultirange(tstzrange(p.wanted_from, ${daysAgo('40')}), tstzrange(${daysAgo('30')}, ${daysAgo('3')}))
            else tstzmultirange(tstzrange(p.wanted_from, ${daysAgo('3')})) end,
          case when p.id % 200 <> 7 then now() - (p.id % 3600) * interval '1 second' end
        from vitalsync.profiles p, unnest($1::text[]) s(stream) order by p.id`,
      values: () => [streams],
    },
    {
      text: `insert into vitalsync.refusals (profile_id, stream, span, status, reason, first_at, last_at, next_try_at)
        select p.id, s.stream, tstzrange(${daysAgo('(20 + d)')}, ${daysAgo('(19 + d)')}), 422, 'startDateTime does not fit', now(), now(), now() + interval '1 hour'
        from vitalsync.profiles p, unnest($1::text[]) s(stream), generate_series(0, (p.id / 50 % 9)::int) d where p.id % 50 = 1`,
      values: () => [streams],
    },
    {
      text: `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, local_date, first_seen_at, last_seen_at)
        select p.id, s.stream, 'pull', sha256((p.id || s.stream)::bytea), 'value', 'expected number', '{"value":"high"}', current_date - 25, now(), now()
        from vitalsync.profiles p, unnest($1::text[]) s(stream) where p.id % 100 = 2`,
      values: () => [streams.filter((name) => name === 'scores' || name === 'biomarkers')],
    },
    {
      text: `insert into vitalsync.silence (profile_id, subject, last_at, last_day, device, intervals, usual_hours, long_hours, silent_from, state)
        select p.id, s.subject, l.at, l.at::date, case when p.id % 3 = 0 then 'phone' else 'watch' end,
          (select array_agg(23 + n / 30 order by n) from generate_series(1, 90) n), 24, 26, l.at + interval '46 hours',
          case when s.subject = 'all' and p.id % 20 = 5 then 'all_stopped' end
        from vitalsync.profiles p, unnest(array['all', 'steps', 'heart', 'sleep']) s(subject),
          lateral (select now() - case when p.id % 20 = 5 then 72 + p.id % 700 else p.id % 24 end * interval '1 hour' as at) l`,
      values: () => [],
    },
    {
      text: `insert into vitalsync.failures (profile_id, job, reason, attempts, first_at, last_at)
        select id, 'sync-profile', 'upstream answers 503', 3, now(), now() from vitalsync.profiles where id % 500 = 4`,
      values: () => [],
    },
    {
      text: `insert into vitalsync.runs (kind, state, started_at, ended_at, enqueued, enqueued_all, done, failed, requests, rows_read, rows_written)
        select case when n % 144 = 0 then 'nightly' else 'sweep' end, 'done', t, t + interval '4 minutes', 700, true, 690, 10, 5600, 168000, 9000
        from generate_series(1, 4320) n, lateral (select now() - (4320 - n) * interval '10 minutes' as t) x`,
      values: () => [],
    },
  ]
}

async function fillRecords(client: pg.Client, name: (typeof pulledNames)[number], part: number): Promise<void> {
  const { table, columns } = streamOf(name)
  const fromMs = Math.floor(Date.now() / DAY) * DAY - ((part + 1) * CANNED_DAYS - 1) * DAY
  const casts = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const
  const values = columns.map(({ type, from }) => `(r ->> '${from[0]}')::${casts[type]}`)
  const start = `(r ->> '${columns.find(({ key, type }) => key && type === 'instant')?.from[0]}')`
  await client.query(
    `insert into vitalsync.${table} (profile_id, ${columns.map((column) => column.name)}, local_date, body, digest, read_at, first_seen_at, changed_at)
     select p.id, ${values}, left(${start}, 10)::date, r::text, 0, now(), now(), now()
     from vitalsync.profiles p, jsonb_array_elements($1::jsonb) r where p.id % ${recordsOfEach} = 1 order by p.id`,
    [cannedBody(name, { fromMs, changed: false })],
  )
}
