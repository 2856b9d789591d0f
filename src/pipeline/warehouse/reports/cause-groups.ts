import type { Pool } from '../postgres/warehouse-pool.ts'
import { quarantineCauseSql } from '../quarantine/stored-quarantine.ts'
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

/** Quarantined records of one cause. */
type QuarantineGroup = {
  /** As QuarantineFilter takes it. */
  readonly cause: string
  readonly direction: 'push' | 'pull'
  readonly stream: string
  readonly path: string
  readonly reason: string
  readonly count: number
  readonly profiles: number
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
}

const GROUPS_PER_PAGE = 200

/** A page of causes, the most frequent first. Counted over every row. `nextBefore` continues it; null: it was the last. */
type CausePage<Group> = {
  readonly groups: readonly Group[]
  readonly nextBefore: string | null
  /** The number of causes on all pages, and of their rows. */
  readonly causes: number
  readonly total: number
}

/** The key of a page: the count and the cause of the last group before it. */
export const causePageKey = /^\d{1,9},[0-9a-f]{32}$/

/** The failures by cause. */
export const readFailureGroups = (pool: Pool, before?: string, perPage = GROUPS_PER_PAGE) =>
  readCausePage<FailureGroup>(pool, failureGroupsQuery, { before, perPage })

/** All quarantined records by cause. */
export const readQuarantineGroups = (pool: Pool, before?: string, perPage = GROUPS_PER_PAGE) =>
  readCausePage<QuarantineGroup>(pool, quarantineGroupsQuery, { before, perPage })

/** Each row has the counts of all, which are no part of a group. */
type Counted<Group> = Group & { causes?: number; total?: number }

async function readCausePage<Group extends { readonly cause: string; readonly count: number }>(
  pool: Pool,
  query: string,
  { before, perPage }: { before: string | undefined; perPage: number },
): Promise<CausePage<Group>> {
  const [count = null, cause = null] = before?.split(',') ?? []
  const { rows } = await pool.query<Counted<Group>>(query, [count, cause, perPage + 1])
  const { causes = 0, total = 0 } = rows[0] ?? {}
  for (const row of rows) {
    delete row.causes
    delete row.total
  }
  const groups = rows.slice(0, perPage)
  const last = groups.at(-1)
  return {
    groups,
    nextBefore: rows.length > perPage && last ? `${last.count},${last.cause}` : null,
    causes,
    total,
  }
}

const pageOf = (groups: string, cause: string) => `
  select * from (
    select ${cause} as cause, g.*, (count(*) over ())::int as causes, (sum(g.count) over ())::int as total from (${groups}) g) page
  where $1::int is null or (count, cause collate "C") < ($1, $2) order by count desc, cause collate "C" desc limit $3`

const failureGroupsQuery = pageOf(
  `select 'job' as kind, f.job as subject, f.reason, null::int as status, count(*)::int as count,
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
  group by 2, 3, 4`,
  causeSql('g'),
)

const quarantineGroupsQuery = pageOf(
  `select direction, stream, path, reason, sum(count)::int as count, count(*)::int as profiles,
    min(first_seen_at) as "firstSeenAt", max(last_seen_at) as "lastSeenAt"
  from (
    select direction, stream, path, reason, profile_id, count(*) as count, min(first_seen_at) as first_seen_at,
      max(last_seen_at) as last_seen_at
    from vitalsync.quarantine group by 1, 2, 3, 4, 5) by_profile
  group by 1, 2, 3, 4`,
  quarantineCauseSql('g'),
)
