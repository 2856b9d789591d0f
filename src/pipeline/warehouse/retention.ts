import { COUNTED_DAYS } from './ledger/settle-times.ts'
import type { Pool } from './postgres/warehouse-pool.ts'

/** How many rows one statement deletes: its locks are short, however many rows are too old. */
const ROWS_AT_ONCE = 1000

/** One kind of rows that the warehouse does not keep for ever. */
type Retention = ReturnType<typeof keptForDays>

/** All that the warehouse deletes because of its age. Every other table keeps its rows until something else ends them. */
export function retentionsOf({ runsKeptDays }: { readonly runsKeptDays: number }): Retention[] {
  return [
    {
      subject: 'runs that ended, with their slots and orders',
      kept: `${runsKeptDays} days`,
      deletePortion: (pool) => deleteRuns(pool, runsKeptDays),
    },
    keptForDays('tokens that expired', runsKeptDays, {
      table: 'tokens',
      column: 'expires_at',
      andSql: "coalesce(lease_until, '-infinity') < statement_timestamp()",
    }),
    keptForDays('counts of lateness', COUNTED_DAYS, {
      table: 'lateness',
      column: 'observed_on',
      isDate: true,
    }),
    keptForDays('counts of types', 90, { table: 'drift_types', column: 'read_on', isDate: true }),
    keptForDays('silent differences', 90, { table: 'silent_differences', column: 'found_at' }),
    {
      subject: 'differences that a verification found',
      kept: `the newest ${DIFFERENCES_MAX.toLocaleString('en')}`,
      deletePortion: (pool) =>
        deleteOldest(pool, {
          table: 'differences',
          column: 'found_at',
          fromSql: `(select found_at from vitalsync.differences order by found_at desc offset $1::int) as beyond`,
          parameter: DIFFERENCES_MAX,
        }),
    },
    keptForDays('counts of verified windows', 400, {
      table: 'verified_windows',
      column: 'verified_on',
      isDate: true,
    }),
    keptForDays('heartbeats of workers that were killed', 1, { table: 'workers', column: 'seen_at' }),
    keptForDays('changes of silence', 400, { table: 'silence_events', column: 'at' }),
    keptForDays('the audit', 400, { table: 'audit', column: 'at' }),
  ]
}

/** Deletes the rows that are not kept, in portions, until none is left or the signal aborts. Safe in several processes at once. */
export async function deleteOldRows(pool: Pool, retention: Retention, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ; ) {
    const portion = await retention.deletePortion(pool)
    deleted += portion
    if (portion < ROWS_AT_ONCE || signal.aborted) return deleted
  }
}

const DIFFERENCES_MAX = 10_000

type AgedTable = {
  readonly table: string
  readonly column: string
  /** The column holds dates (UTC); without this, instants. */
  readonly isDate?: true
  readonly andSql?: string
}

function keptForDays(subject: string, days: number, { isDate, andSql = 'true', ...aged }: AgedTable) {
  const nowSql = isDate ? "(statement_timestamp() at time zone 'UTC')::date" : 'statement_timestamp()'
  const fromSql = `vitalsync.${aged.table} where ${aged.column} < ${nowSql} - $1::int * interval '1 day' and ${andSql}`
  return {
    /** The rows, as docs/how-to/operating.md names them. */
    subject,
    kept: days === 1 ? 'a day' : `${days} days`,
    /** Deletes about ROWS_AT_ONCE of the oldest rows that are not kept, and returns how many. */
    deletePortion: (pool: Pool) => deleteOldest(pool, { ...aged, fromSql, parameter: days, andSql }),
  }
}

type OldRows = Omit<AgedTable, 'isDate'> & { readonly fromSql: string; readonly parameter: number }

/**
 * In two statements, because a divided warehouse deletes by constants alone, and takes no `limit` there. Rows of one instant are
 * deleted together.
 */
async function deleteOldest(pool: Pool, { table, column, fromSql, parameter, andSql = 'true' }: OldRows) {
  const { rows } = await pool.query<{ upTo: string | null }>(
    `select max(${column})::text as "upTo" from (select ${column} from ${fromSql} order by ${column} limit ${ROWS_AT_ONCE}) as oldest`,
    [parameter],
  )
  if (!rows[0]?.upTo) return 0
  const { rowCount } = await pool.query(`delete from vitalsync.${table} where ${column} <= $1 and ${andSql}`, [
    rows[0].upTo,
  ])
  return rowCount ?? 0
}

/**
 * The newest slot of each schedule stays for ever: it says which slots have happened. A run keeps its slot as long as it
 * stays itself.
 */
async function deleteRuns(pool: Pool, keptDays: number): Promise<number> {
  const { rows } = await pool.query<{ deleted: number }>(
    `with old as materialized (
       select id from vitalsync.runs
       where state <> 'running' and ended_at < statement_timestamp() - $1::int * interval '1 day'
       order by id limit ${ROWS_AT_ONCE} for update skip locked
     ), newest as materialized (
       select schedule, max(slot_at) as slot_at from vitalsync.slots group by schedule
     ), left_orders as (
       delete from vitalsync.orders o using old where o.run_id = old.id
     ), kept_slots as (
       update vitalsync.slots s set run_id = null from newest n, old
       where s.schedule = n.schedule and s.slot_at = n.slot_at and s.run_id = old.id
     ), old_slots as (
       delete from vitalsync.slots s using old
       where s.run_id = old.id and (s.schedule, s.slot_at) not in (select schedule, slot_at from newest)
     ), old_runs as (
       delete from vitalsync.runs r using old where r.id = old.id returning 1
     )
     select count(*)::int as deleted from old_runs`,
    [keptDays],
  )
  return rows[0]?.deleted ?? 0
}
