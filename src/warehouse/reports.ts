import type { Pool } from './pool.ts'
import type { Run } from './runs.ts'

export type PeopleCounts = { new: number; active: number; gone: number; due: number }

export type StreamReport = {
  stream: string
  profiles: number
  /** Share of what is wanted that was read and had settled, 0 to 1. */
  coveredShare: number
  /** How far behind now the checkpoints are. */
  lagSecondsMedian: number
  lagSecondsMax: number
  oldestReadAt: Date | null
  newestReadAt: Date | null
  neverRead: number
}

export type ReasonCount = { kind: 'job' | 'window'; subject: string; reason: string; count: number; newestAt: Date }
export type WaitingCount = { stream: string; waiting: number; oldestAt: Date | null }
export type QuarantineCount = { direction: 'push' | 'pull'; stream: string; count: number }

/** What the ledger can tell of the whole, by counting. Reads only. */
export type Reports = {
  people(): Promise<PeopleCounts>
  streams(): Promise<StreamReport[]>
  runs(limit: number): Promise<Run[]>
  failures(): Promise<ReasonCount[]>
  outbox(): Promise<WaitingCount[]>
  quarantine(): Promise<QuarantineCount[]>
}

const runColumns = `id, kind, params, state, started_at as "startedAt", ended_at as "endedAt", enqueued::float8 as enqueued,
  enqueued_all as "enqueuedAll", after_id as "afterId", done::float8 as done, failed::float8 as failed, refused::float8 as refused,
  requests::float8 as requests, rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten",
  items_pushed::float8 as "itemsPushed"`

export function openReports({ pool }: { pool: Pool }): Reports {
  const all = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows
  return {
    async people() {
      const [row] = await all(`select count(*) filter (where state = 'new')::int as new,
          count(*) filter (where state = 'active')::int as active, count(*) filter (where state = 'gone')::int as gone,
          count(*) filter (where state <> 'gone' and due_at <= clock_timestamp())::int as due
        from vitalsync.profiles`)
      return row
    },
    streams: () =>
      all(`with each as (
          select l.stream, l.read_at, extract(epoch from now() - p.wanted_from) as wanted,
            (select extract(epoch from sum(upper(r) - lower(r)))
              from unnest(l.covered * tstzmultirange(tstzrange(p.wanted_from, now()))) r) as covered,
            extract(epoch from now() - coalesce(
              (select upper(r) from unnest(l.covered) r where r @> p.wanted_from), p.wanted_from)) as lag
          from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
          where p.state <> 'gone' and l.stream <> 'data-logs' and p.wanted_from < now()
        )
        select stream, count(*)::int as profiles,
          least(1, coalesce(sum(covered), 0) / greatest(1, sum(wanted)))::float8 as "coveredShare",
          percentile_disc(0.5) within group (order by greatest(0, lag))::float8 as "lagSecondsMedian",
          greatest(0, max(lag))::float8 as "lagSecondsMax",
          min(read_at) as "oldestReadAt", max(read_at) as "newestReadAt",
          count(*) filter (where read_at is null)::int as "neverRead"
        from each group by stream order by stream`),
    runs: (limit) => all(`select ${runColumns} from vitalsync.runs order by id desc limit $1`, [limit]),
    failures: () =>
      all(`select 'job' as kind, job as subject, reason, count(*)::int as count, max(last_at) as "newestAt"
          from vitalsync.failures group by 2, 3
        union all
        select 'window', stream, reason, count(*)::int, max(last_at) from vitalsync.refusals group by 2, 3
        order by 4 desc, 1, 2, 3 limit 50`),
    outbox: () =>
      all(`select stream, sum(waiting)::int as waiting, min(added_at) as "oldestAt"
        from vitalsync.parcels group by stream order by stream`),
    quarantine: () =>
      all(`select direction, stream, count(*)::int as count from vitalsync.quarantine group by 1, 2 order by 1, 2`),
  }
}
