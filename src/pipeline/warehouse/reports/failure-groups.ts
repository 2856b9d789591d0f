import type { Pool } from '../postgres/warehouse-pool.ts'
import { causeSql } from '../runs/stored-failures.ts'

/** Failures of one cause. */
type FailureGroup = {
  /** As FailureFilter takes it. */
  readonly cause: string
  readonly kind: 'job' | 'window'
  readonly subject: string
  readonly reason: string
  readonly status: number | null
  readonly count: number
  readonly profiles: number
  readonly attempts: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** Null: none of them is retried automatically. */
  readonly nextTryAt: Date | null
}

const GROUPS_MAX = 200

/** The failures by cause, the most frequent first. */
export async function readFailureGroups(pool: Pool): Promise<FailureGroup[]> {
  const { rows } = await pool.query<FailureGroup>(groupsQuery)
  return rows
}

const groupsQuery = `
  select ${causeSql('g')} as cause, g.* from (
  select 'job' as kind, f.job as subject, f.reason, null::int as status, count(*)::int as count,
    count(*)::int as profiles, sum(f.attempts)::int as attempts, min(f.first_at) as "firstAt", max(f.last_at) as "lastAt",
    min(p.due_at) filter (where f.job in ('sync-profile', 'register-profile') and p.due_at <> 'infinity') as "nextTryAt"
  from vitalsync.failures f join vitalsync.profiles p on p.id = f.profile_id group by 2, 3
  union all
  select 'window', stream, reason, status, sum(count)::int, count(*)::int, sum(attempts)::int,
    min(first_at), max(last_at), min(next_try_at)
  from (
    select stream, reason, status, profile_id, count(*) as count, sum(attempts) as attempts, min(first_at) as first_at,
      max(last_at) as last_at, min(next_try_at) filter (where next_try_at <> 'infinity') as next_try_at
    from vitalsync.refusals group by 1, 2, 3, 4) by_profile
  group by 2, 3, 4
  ) g order by count desc, kind, subject, reason limit ${GROUPS_MAX}`
