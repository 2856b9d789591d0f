import type { Cohort } from '../derive/cohort.ts'
import type { Person } from '../derive/log.ts'
import type { Queryable } from './pool.ts'

export async function readCohort(
  db: Queryable,
  accountId: string,
): Promise<{ computedAt: number; cohort: Cohort } | undefined> {
  const { rows } = await db.query<{ computed_at: Date; body: string }>({
    name: 'read-cohort',
    text: 'select computed_at, body from service.cohorts where account_id = $1',
    values: [accountId],
  })
  const row = rows[0]
  return row && { computedAt: row.computed_at.getTime(), cohort: JSON.parse(row.body) }
}

export async function writeCohort(
  db: Queryable,
  { accountId, now, cohort }: { accountId: string; now: Date; cohort: Cohort },
): Promise<void> {
  await db.query({
    name: 'write-cohort',
    text: `insert into service.cohorts (account_id, computed_at, body)
           select account_id, $2, $3 from service.accounts where account_id = $1
           on conflict (account_id) do update set computed_at = excluded.computed_at, body = excluded.body`,
    values: [accountId, now, JSON.stringify(cohort)],
  })
}

export type PersonMean = { name: string; mean: number; person: Person }

/** One mean a person and name, of scores and of nights, over the days since; of so many people at most. */
export async function personMeans(
  db: Queryable,
  { accountId, since, profilesMax }: { accountId: string; since: Date; profilesMax: number },
): Promise<PersonMean[]> {
  const { rows } = await db.query({
    name: 'person-means',
    text: `select r.name, r.mean, m.fields
           from (select profile_id from service.profiles where account_id = $1 order by profile_id limit $3) p
           cross join lateral (
             select name, avg((body::json ->> 'value')::float8) as mean from service.derived d
             where d.profile_id = p.profile_id and d.period_start >= $2
               and (d.kind = 'score' or (d.kind = 'biomarker' and d.name = 'sleep_duration' and d.periodicity = 'daily'))
             group by name) r
           left join service.demographics m on m.profile_id = p.profile_id`,
    values: [accountId, since, profilesMax],
  })
  return rows.map(({ name, mean, fields }) => {
    const { birthDate = null, age = null, gender = null } = fields ?? {}
    return { name, mean, person: { birthDate, age, gender } }
  })
}
