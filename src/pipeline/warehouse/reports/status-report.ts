import type { Pool } from '../postgres/warehouse-pool.ts'

type ProfileCounts = { new: number; active: number; gone: number; due: number }

type StreamReport = {
  stream: string
  profiles: number
  /** Share of the wanted time that was read and had settled, 0 to 1. */
  coveredShare: number
  /** Share of the wanted time up to the newest reading that was read, settled or not, 0 to 1; up to now where nothing was read. */
  readShare: number
  /** How far the checkpoints are behind now. */
  lagSecondsMedian: number
  lagSecondsMax: number
  oldestReadAt: Date | null
  newestReadAt: Date | null
  neverRead: number
}

type ReasonCount = { kind: 'job' | 'window'; subject: string; reason: string; count: number; newestAt: Date }
type WaitingCount = { stream: string; waiting: number; oldestAt: Date | null }
type QuarantineCount = { direction: 'push' | 'pull'; stream: string; count: number }

type VerifiedCounts = {
  /** Covered windows that chance drew and that were read again in the last 30 days, and how many differed. */
  windows: number
  windowsDiffering: number
  /** All known differences of these days, by cause. */
  lostHere: number
  changedUpstream: number
  lateUpstream: number
  mended: number
}

/** Counts over the whole warehouse. Reads only. */
export function createReports({ pool }: { pool: Pool }) {
  return {
    async countProfiles() {
      const { rows } = await pool.query<ProfileCounts>(profilesQuery)
      return rows[0] ?? { new: 0, active: 0, gone: 0, due: 0 }
    },
    /** One report for each of the streams with these names that has profiles. */
    streamReports: async (names: readonly string[]) => (await pool.query<StreamReport>(streamsQuery, [names])).rows,
    countFailures: async () => (await pool.query<ReasonCount>(failuresQuery)).rows,
    countWaiting: async () => (await pool.query<WaitingCount>(waitingQuery)).rows,
    countQuarantined: async () => (await pool.query<QuarantineCount>(quarantineQuery)).rows,
    async countVerified() {
      const { rows } = await pool.query<VerifiedCounts>(verifiedQuery)
      return rows[0] ?? { windows: 0, windowsDiffering: 0, lostHere: 0, changedUpstream: 0, lateUpstream: 0, mended: 0 }
    },
  }
}

const profilesQuery = `
  select count(*) filter (where state = 'new')::int as new,
    count(*) filter (where state = 'active')::int as active, count(*) filter (where state = 'gone')::int as gone,
    count(*) filter (where state <> 'gone' and due_at <= clock_timestamp())::int as due
  from vitalsync.profiles`

const streamsQuery = `
  with each as (
    select l.stream, l.read_at, extract(epoch from now() - p.wanted_from) as wanted,
      (select extract(epoch from sum(upper(r * tstzrange(p.wanted_from, now())) - lower(r * tstzrange(p.wanted_from, now()))))
        from unnest(l.covered) r) as covered,
      (select extract(epoch from sum(upper(r) - lower(r)))
        from unnest((l.covered + l.digesting + l.reread + tstzmultirange(tstzrange(
            least(l.read_at, (l.read_at at time zone 'UTC' - interval '1 hour'
              - interval '1 ms' * coalesce(t.settle_ms, s.settle_ms)) at time zone 'UTC'), l.read_at)))
          * tstzmultirange(tstzrange(p.wanted_from, greatest(l.read_at, p.wanted_from)))) r) as read,
      extract(epoch from greatest(coalesce(l.read_at, now()), p.wanted_from) - p.wanted_from) as wanted_until_read,
      extract(epoch from now() - coalesce(
        (select upper(r) from unnest(l.covered) r where r @> p.wanted_from), p.wanted_from)) as lag
    from (select *, coalesce((select range_agg(tstzrange(
          to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)))
        from jsonb_array_elements(rereads) e), '{}') as reread from vitalsync.ledger) l
    join vitalsync.profiles p on p.id = l.profile_id
    join vitalsync.day_streams s on s.stream = l.stream
    left join (select stream, max(settle_ms) as settle_ms from vitalsync.settle_times group by 1) t on t.stream = l.stream
    where p.state <> 'gone' and l.stream = any($1) and p.wanted_from < now()
  )
  select stream, count(*)::int as profiles,
    least(1, coalesce(sum(covered), 0) / greatest(1, sum(wanted)))::float8 as "coveredShare",
    least(1, coalesce(sum(read), 0) / greatest(1, sum(wanted_until_read)))::float8 as "readShare",
    percentile_disc(0.5) within group (order by greatest(0, lag))::float8 as "lagSecondsMedian",
    greatest(0, max(lag))::float8 as "lagSecondsMax",
    min(read_at) as "oldestReadAt", max(read_at) as "newestReadAt",
    count(*) filter (where read_at is null)::int as "neverRead"
  from each group by stream order by stream`

const failuresQuery = `
  select 'job' as kind, job as subject, reason, count(*)::int as count, max(last_at) as "newestAt"
    from vitalsync.failures group by 2, 3
  union all
  select 'window', stream, reason, count(*)::int, max(last_at) from vitalsync.refusals group by 2, 3
  order by 4 desc, 1, 2, 3 limit 50`

const waitingQuery = `
  select stream, sum(waiting)::int as waiting, min(added_at) as "oldestAt"
  from vitalsync.parcels group by stream order by stream`

const quarantineQuery =
  'select direction, stream, count(*)::int as count from vitalsync.quarantine group by 1, 2 order by 1, 2'

const verifiedQuery = `
  select v.*, d.* from (
    select coalesce(sum(windows), 0)::float8 as windows, coalesce(sum(differing), 0)::float8 as "windowsDiffering"
    from warehouse.verified
  ) v, (
    select count(*) filter (where cause = 'lost-here')::int as "lostHere",
      count(*) filter (where cause = 'changed-upstream')::int as "changedUpstream",
      count(*) filter (where cause = 'late-upstream')::int as "lateUpstream", count(mended_at)::int as mended
    from vitalsync.differences where found_at > now() - interval '30 days'
  ) d`
