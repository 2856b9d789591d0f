import type { Pool } from '../postgres/warehouse-pool.ts'

/** The work that a run still has to do. */
export type WorkLeft = {
  readonly jobs: number
  /** Items that wait to be pushed for the profiles of these jobs. */
  readonly items: number
  readonly itemsOfLongestJob: number
}

type UnendedRun = {
  readonly id: string
  readonly enqueuedAll: boolean
  readonly afterId: string
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * Counts the jobs of a run that have not ended and the profiles that its producers will still enqueue, with what waits to
 * be pushed for them. Only valid for runs over all profiles or over `params.profileIds`.
 */
export async function countWorkLeft(pool: Pool, { id, enqueuedAll, afterId, params }: UnendedRun): Promise<WorkLeft> {
  const { rows } = await pool.query<WorkLeft>(
    `with each as materialized (
       select profile_id from vitalsync.orders where run_id = $1
       union
       select id from vitalsync.profiles
       where not $2 and id > $3 and state <> 'gone' and ($4::int8[] is null or id = any($4))
     ), items as (
       select sum(p.waiting) as waiting from vitalsync.parcels p join each using (profile_id) group by profile_id
     )
     select (select count(*) from each)::float8 as jobs, coalesce(sum(waiting), 0)::float8 as items,
       coalesce(max(waiting), 0)::float8 as "itemsOfLongestJob" from items`,
    [id, enqueuedAll, afterId, Array.isArray(params['profileIds']) ? params['profileIds'] : null],
  )
  return rows[0] ?? { jobs: 0, items: 0, itemsOfLongestJob: 0 }
}
