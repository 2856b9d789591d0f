import type { CauseEvidence, EmptyCause } from '../../ledger/empty-causes.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'

export const dayStates = [
  'data',
  'empty',
  'unsettled',
  'never_read',
  'refused',
  'quarantined',
  'erased_upstream',
] as const
export type DayState = (typeof dayStates)[number]

type DayRefusal = { status: number | null; reason: string; attempts: number; firstAt: Date; nextTryAt: Date | null }
/** The records of a stream's day in the warehouse, or why there are none, with the evidence. */
export type DayReport = {
  readonly externalId: string
  readonly stream: string
  readonly localDate: string
  readonly state: DayState
  readonly reason: string
  /** The reason why upstream has nothing, by the logs that were handed in. Null where the day is not empty. */
  readonly cause: EmptyCause | null
  readonly causeEvidence: CauseEvidence | null
  readonly rows: number
  readonly settled: boolean
  /** The newest reading of the stream, whatever the day. */
  readonly readAt: Date | null
  /** The latest time at which the profile is due again: unsettled spans are read again then. Null: it is gone, or has never been read. */
  readonly nextReadAt: Date | null
  /** The bounds of the covered span that holds the day's noon in UTC. */
  readonly coveredFrom: Date | null
  readonly coveredTo: Date | null
  /** Items that wait to be pushed and end on the day or span it. */
  readonly itemsWaiting: number
  readonly refusals: readonly DayRefusal[]
  readonly quarantined: readonly { id: string; path: string; reason: string; lastSeenAt: Date }[]
  /** The last run that finished the profile. */
  readonly runId: string | null
}

type DayQuestion = {
  readonly profileId: string
  readonly localDate: string
  readonly streams: readonly string[]
}

/** Reads the answers of the streams that have one: none before the first wanted day and after today. */
export async function readDayReports(pool: Pool, { profileId, localDate, streams }: DayQuestion): Promise<DayReport[]> {
  const { rows } = await pool.query<DayReport>(dayReportQuery, [profileId, localDate, streams])
  return rows.map((row) => ({
    ...row,
    refusals: row.refusals.map(({ firstAt, nextTryAt, ...refusal }) => ({
      ...refusal,
      firstAt: new Date(firstAt),
      nextTryAt: nextTryAt === null ? null : new Date(nextTryAt),
    })),
    quarantined: row.quarantined.map(({ lastSeenAt, ...report }) => ({ ...report, lastSeenAt: new Date(lastSeenAt) })),
  }))
}

type DayFaults = {
  readonly profileIds: readonly string[]
  readonly fromDay: string
  readonly lastDay: string
  /** Absent: all streams. */
  readonly stream?: string
}
type DayFault = { profileId: string; stream: string; day: string; state: 'quarantined' | 'refused' }

/** The days with a record in quarantine, or else a refused window, whatever else is stored of the day: `warehouse.days` says `data` of both. */
export async function readDayFaults(
  pool: Pool,
  { profileIds, fromDay, lastDay, stream }: DayFaults,
): Promise<DayFault[]> {
  const { rows } = await pool.query<DayFault>(dayFaultsQuery, [profileIds, fromDay, lastDay, stream ?? null])
  return rows
}

const dayFaultsQuery = `
  select x.profile_id::text as "profileId", x.stream, c.day::text as day, min(x.state) as state
  from (
    select profile_id, stream, span, null::date as local_date, 0 as further_days, 'refused' as state from vitalsync.refusals where profile_id = any($1::int8[])
    union all
    select profile_id, stream, span, local_date, further_days, 'quarantined' from vitalsync.quarantine where profile_id = any($1::int8[]) and direction = 'pull') x
  join vitalsync.calendar c on c.day between x.local_date and x.local_date + x.further_days or x.local_date is null and x.span && c.span
  where c.day between $2::date and $3::date and ($4::text is null or x.stream = $4)
  group by x.profile_id, x.stream, c.day`

const LISTED_MAX = 20

/** The view is asked alone: joined by the name, a divided warehouse would first collect the days of everybody. */
const dayReportQuery = `
  with days as materialized (
    select * from warehouse.days where external_id = (select external_id from vitalsync.profiles where id = $1)
      and local_date = $2::date and stream = any($3)
  )
  select d.external_id as "externalId", d.stream, d.local_date::text as "localDate", d.state, coalesce(d.reason, '') as reason,
    d.cause, d.evidence as "causeEvidence", d.rows, d.settled, d.read_at as "readAt", case when p.state = 'active' and isfinite(p.due_at) then p.due_at end as "nextReadAt", lower(s.covered) as "coveredFrom", upper(s.covered) as "coveredTo",
    (select coalesce(sum(o.waiting), 0)::int from vitalsync.parcels o
      where o.profile_id = p.id and o.start_at < upper(c.span) and o.last_end_at >= lower(c.span)) as "itemsWaiting",
    coalesce((select json_agg(json_build_object('status', f.status, 'reason', f.reason, 'attempts', f.attempts,
        'firstAt', f.first_at, 'nextTryAt', nullif(f.next_try_at, 'infinity')) order by f.last_at desc)
      from (select * from vitalsync.refusals f where f.profile_id = p.id and f.stream = d.stream and f.span && c.span
        limit ${LISTED_MAX}) f), '[]') as refusals,
    coalesce((select json_agg(json_build_object('id', q.id::text, 'path', q.path, 'reason', q.reason,
        'lastSeenAt', q.last_seen_at) order by q.id)
      from (select * from vitalsync.quarantine q where q.profile_id = p.id and q.stream = d.stream and q.direction = 'pull'
        and (c.day between q.local_date and q.local_date + q.further_days or q.local_date is null and q.span && c.span) order by id limit ${LISTED_MAX}) q), '[]') as quarantined,
    p.run_id::text as "runId"
  from vitalsync.profiles p
  join days d on d.external_id = p.external_id
  join vitalsync.calendar c on c.day = d.local_date
  join vitalsync.ledger l on l.profile_id = p.id and l.stream = d.stream
  left join lateral (select r as covered from unnest(l.covered) r
    where r @> lower(c.span) + interval '12 hours') s on true
  where p.id = $1
  order by array_position($3, d.stream)`
