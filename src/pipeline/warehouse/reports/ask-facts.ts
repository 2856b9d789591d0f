import { lagBoundsSeconds, type QuickFacts, type SlowFacts } from '../../fleet/fleet-facts.ts'
import { measuredRateOf } from '../../ledger/measured-rate.ts'
import { readShardCount } from '../divided/distributed-tables.ts'
import { listNodes } from '../divided/examine-distribution.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { countSilent } from '../silence/list-silence.ts'
import { countDrift } from './drift-report.ts'
import { createReports } from './status-report.ts'

type StoredQuickFacts = Omit<QuickFacts, 'progress' | 'workers' | 'troubles' | 'queue' | 'slots'> & { mark: string }

/** The database's facts about the work of the moment. Every part is found by an index, or in a table that stays small. */
export async function askQuickFacts(pool: Pool): Promise<StoredQuickFacts> {
  const { rows } = await pool.query<StoredQuickFacts>(quickQuery)
  const [facts] = rows
  if (facts === undefined) throw new Error('ask for facts: the database returned no row')
  return facts
}

/** The newest runs are those that are being worked on. */
const RUNS_WATCHED = 100

const secondsSince = (instant: string) =>
  `greatest(0, coalesce(extract(epoch from clock_timestamp() - ${instant}), 0))::float8`
const listOf = (rows: string) => `(select coalesce(json_agg(r), '[]') from (${rows}) r)`

const quickQuery = `
  select d.*, ${listOf(`
      select kind, ${secondsSince('min(started_at)')} as "ageSeconds", sum(greatest(0, enqueued - done - failed))::float8 as left
      from vitalsync.runs where state = 'running' group by kind`)} as runs,
    ${listOf(`
      select stream, sum(waiting)::float8 as items, ${secondsSince('min(added_at)')} as "oldestSeconds"
      from vitalsync.parcels group by stream`)} as outbox,
    (select coalesce(sum(done + failed), 0) from (
        select done, failed from vitalsync.runs order by id desc limit ${RUNS_WATCHED}) newest)
      || '.' || coalesce((select n_tup_ins + n_tup_upd from pg_stat_user_tables
        where relid = 'vitalsync.ledger'::regclass), 0) as mark,
    (select broken_reason from vitalsync.tokens
      where profile_id is null and broken_reason is not null order by broken_until desc limit 1) as halted,
    (select max(generation)::float8 from vitalsync.tokens where profile_id is null) as "tokenGeneration",
    (select (extract(epoch from max(ended_at)) * 1000)::float8 from vitalsync.runs
      where kind = 'nightly' and state = 'done') as "lastNightlyMs"
  from (select count(*)::float8 as due, ${secondsSince('min(due_at)')} as "dueOldestSeconds"
    from vitalsync.profiles where state <> 'gone' and due_at <= clock_timestamp()) d`

type StreamNames = { readonly pulled: readonly string[]; readonly pushed: readonly string[] }

/** Counts over all profiles. The asker rests after it twenty times as long as it took. */
export async function askSlowFacts(pool: Pool, { pulled, pushed }: StreamNames): Promise<SlowFacts> {
  const reports = createReports({ pool })
  const { windows, windowsDiffering: differing } = await reports.countVerified()
  const measured = windows > 0 ? measuredRateOf(differing, windows) : { rate: 0, rateFrom: 0 }
  const { rows } = await pool.query<Pick<SlowFacts, 'profiles' | 'refusals' | 'failures'>>(countsQuery)
  const [counts] = rows
  if (counts === undefined) throw new Error('ask for facts: the database returned no row')
  const { rows: lags } = await pool.query<SlowFacts['lags'][number]>(lagsQuery, [lagBoundsSeconds, pulled])
  const { rate, rateFrom } = measured
  const quarantined = await reports.countQuarantined()
  const drift = await countDrift(pool)
  const kept = (direction: 'pull' | 'push', stream: string) =>
    quarantined.find((quarantineCount) => quarantineCount.direction === direction && quarantineCount.stream === stream)
      ?.count ?? 0
  return {
    ...counts,
    ...(await readTableSizes(pool)),
    lags,
    silent: await countSilent(pool),
    // Streams without records are exported too: a figure that appears for the first time has risen from 0.
    refusals: pulled.map((stream) => ({
      stream,
      count: counts.refusals.find((refusal) => refusal.stream === stream)?.count ?? 0,
    })),
    quarantine: [
      ...pulled.map((stream) => ({ direction: 'pull', stream, count: kept('pull', stream) })),
      ...pushed.map((stream) => ({ direction: 'push', stream, count: kept('push', stream) })),
    ],
    drift: pulled.map((stream) => ({ stream, count: drift.find((entry) => entry.stream === stream)?.count ?? 0 })),
    verified: { windows, differing, rate, rateFrom },
  }
}

const countsQuery = `
  select ${listOf('select state, count(*)::float8 as count from vitalsync.profiles group by state')} as profiles,
    ${listOf('select stream, count(*)::float8 as count from vitalsync.refusals group by stream')} as refusals,
    ${listOf('select job, count(*)::float8 as count from vitalsync.failures group by job')} as failures`

/** A profile that was never read lags by all that is wanted of it. */
const lagsQuery = `
  with each as (
    select l.stream,
      extract(epoch from now() - greatest(l.read_at, p.wanted_from)) as read_lag,
      extract(epoch from now() - coalesce(
        (select upper(r) from unnest(l.covered) r where r @> p.wanted_from), p.wanted_from)) as covered_lag
    from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
    where p.state <> 'gone' and p.wanted_from < now() and l.stream = any($2)
  ), counted as (
    select stream, b.place, count(*) filter (where covered_lag <= b.bound)::float8 as covered,
      count(*) filter (where read_lag <= b.bound)::float8 as read, count(*)::float8 as profiles
    from each cross join unnest($1::float8[]) with ordinality b(bound, place) group by stream, b.place
  )
  select stream, max(profiles) as profiles, array_agg(covered order by place) as "coveredWithin",
    array_agg(read order by place) as "readWithin"
  from counted group by stream order by stream`

/** The space of the warehouse on the disks of all nodes: the sizes of its files. No row is read. While a node is away, that of the coordinator alone. */
export async function readTableSizes(pool: Pool) {
  const isDivided =
    (await readShardCount(pool)) !== undefined && (await listNodes(pool)).every(({ answers }) => answers)
  const onNodes = `(select citus_total_relation_size(p.logicalrelid, false) from pg_dist_partition p where p.logicalrelid = oid)`
  const { rows } = await pool.query<{ table: string; bytes: number }>(
    `select relname as "table", coalesce(${isDivided ? onNodes : 'null'}, pg_total_relation_size(oid))::float8 as bytes from pg_class
     where relnamespace = 'vitalsync'::regnamespace and relkind in ('r', 'p') order by bytes desc, relname`,
  )
  const { rows: whole } = await pool.query<{ bytes: number }>(
    `select pg_database_size(current_database())::float8${isDivided ? nodesSize : ''} as bytes`,
  )
  return {
    databaseBytes: whole[0]?.bytes ?? 0,
    /** With their indexes, the largest first. */
    tables: rows,
  }
}

const nodesSize = ` + (select coalesce(sum(result::float8), 0)
  from run_command_on_workers('select pg_database_size(current_database())') where success)`
