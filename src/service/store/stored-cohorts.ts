import type { Cohort } from '../derive/model/cohort.ts'
import type { Demographics } from '../derive/model/demographics.ts'
import { demographicsOf } from './derivation-queue.ts'
import type { Queryable } from './service-pool.ts'

export async function readCohort(
  db: Queryable,
  accountId: string,
): Promise<{ computedAtMs: number; cohort: Cohort } | undefined> {
  const { rows } = await db.query<{ computed_at: Date; body: string }>({
    name: 'read-cohort',
    text: 'select computed_at, body from service.cohorts where account_id = $1',
    values: [accountId],
  })
  const row = rows[0]
  return row && { computedAtMs: row.computed_at.getTime(), cohort: JSON.parse(row.body) }
}

export async function writeCohort(
  db: Queryable,
  { accountId, nowAt, cohort }: { accountId: string; nowAt: Date; cohort: Cohort },
): Promise<void> {
  await db.query({
    name: 'write-cohort',
    text: `insert into service.cohorts (account_id, computed_at, body)
           select account_id, $2, $3 from service.accounts where account_id = $1
           on conflict (account_id) do update set computed_at = excluded.computed_at, body = excluded.body`,
    values: [accountId, nowAt, JSON.stringify(cohort)],
  })
}

export type ProfileMean = { name: string; mean: number; person: Demographics }

/** The mean of each score and of the sleep duration since `sinceAt`, per profile, of at most `profilesMax` profiles. */
export async function readProfileMeans(
  db: Queryable,
  { accountId, sinceAt, profilesMax }: { accountId: string; sinceAt: Date; profilesMax: number },
): Promise<ProfileMean[]> {
  const { rows } = await db.query<{ name: string; mean: number; fields: Partial<Demographics> | null }>({
    name: 'profile-means',
    text: `select r.name, r.mean, m.fields
           from (select profile_id from service.profiles where account_id = $1 order by profile_id limit $3) p
           cross join lateral (
             select name, avg((body::json ->> 'value')::float8) as mean from service.derived d
             where d.profile_id = p.profile_id and d.period_start >= $2
               and (d.kind = 'score' or (d.kind = 'biomarker' and d.name = 'sleep_duration' and d.periodicity = 'daily'))
             group by name) r
           left join service.demographics m on m.profile_id = p.profile_id`,
    values: [accountId, sinceAt, profilesMax],
  })
  return rows.map(({ name, mean, fields }) => ({ name, mean, person: demographicsOf(fields) }))
}
