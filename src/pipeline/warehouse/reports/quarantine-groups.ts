import type { Pool } from '../postgres/warehouse-pool.ts'
import { quarantineCauseSql } from '../quarantine/stored-quarantine.ts'

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

const GROUPS_MAX = 200

/** All quarantined records by cause, the most frequent first. Counted over every row, however few of them are shown. */
export async function readQuarantineGroups(pool: Pool): Promise<QuarantineGroup[]> {
  const { rows } = await pool.query<QuarantineGroup>(groupsQuery)
  return rows
}

const groupsQuery = `
  select ${quarantineCauseSql('g')} as cause, g.* from (
    select direction, stream, path, reason, sum(count)::int as count, count(*)::int as profiles,
      min(first_seen_at) as "firstSeenAt", max(last_seen_at) as "lastSeenAt"
    from (
      select direction, stream, path, reason, profile_id, count(*) as count, min(first_seen_at) as first_seen_at,
        max(last_seen_at) as last_seen_at
      from vitalsync.quarantine group by 1, 2, 3, 4, 5) by_profile
    group by 1, 2, 3, 4
  ) g order by count desc, direction, stream, path, reason limit ${GROUPS_MAX}`
