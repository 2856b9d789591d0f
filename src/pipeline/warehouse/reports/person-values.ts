import type { Pool } from '../postgres/warehouse-pool.ts'

type PersonDay = {
  readonly day: string
  readonly wellbeing: number | null
  readonly activity: number | null
  readonly sleep: number | null
  readonly readiness: number | null
  readonly mental_wellbeing: number | null
  readonly steps: number | null
  readonly restingHeart: number | null
  readonly sleepMinutes: number | null
}
/** Minutes after 18:00 of the evening, by the person's own clock. */
type Night = {
  readonly day: string
  readonly start: string
  readonly end: string
  /** Minutes; null where the person's device records no stages. */
  readonly deep: number | null
  readonly light: number | null
  readonly rem: number | null
  readonly awake: number | null
}
type Trend = {
  readonly name: string
  readonly state: string
  readonly unit: string
  readonly values: readonly number[]
}
type Comparison = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly data: readonly { readonly type: string; readonly value: number; readonly state: string }[]
}
type ScoreChange = {
  readonly type: string
  readonly day: string
  readonly before: number | null
  readonly after: number | null
  readonly changedAt: Date
}

export type PersonValues = {
  readonly days: readonly PersonDay[]
  readonly nights: readonly Night[]
  readonly trends: readonly Trend[]
  readonly comparisons: readonly Comparison[]
  readonly changes: readonly ScoreChange[]
}

/** The health values of a person: the last `days` days. */
export async function readPersonValues(pool: Pool, externalId: string, days: number): Promise<PersonValues> {
  const rowsOf = async <R extends Record<string, unknown>>(text: string, values: unknown[] = [externalId]) =>
    (await pool.query<R>(text, values)).rows
  return {
    days: await rowsOf<PersonDay>(daysQuery, [externalId, days]),
    nights: await rowsOf<Night>(nightsQuery),
    trends: await rowsOf<Trend>(trendsQuery),
    comparisons: await rowsOf<Comparison>(comparisonsQuery),
    changes: await rowsOf<ScoreChange>(changesQuery),
  }
}

const daysQuery = `
  select local_date::text as day, wellbeing, activity, sleep, readiness, mental_wellbeing, steps,
    heart_rate_resting as "restingHeart", sleep_duration as "sleepMinutes"
  from warehouse.person_days where external_id = $1 and local_date > current_date - $2::int order by local_date`

const stages = ['deep', 'light', 'rem', 'awake'] as const
const stageColumns = stages.map(
  (stage) => `max(value_number) filter (where type = 'sleep_${stage}_duration')::float8 as ${stage}`,
)

const nightsQuery = `
  select local_date::text as day, max(value) filter (where type = 'sleep_start_time') as start,
    max(value) filter (where type = 'sleep_end_time') as "end", ${stageColumns}
  from warehouse.biomarkers_now
  where external_id = $1 and periodicity = 'daily' and start_date_time > now() - interval '30 days'
    and type in ('sleep_start_time', 'sleep_end_time', ${stages.map((stage) => `'sleep_${stage}_duration'`)})
  group by local_date having count(distinct type) filter (where type in ('sleep_start_time', 'sleep_end_time')) = 2
  order by local_date desc limit 28`

const trendsQuery = `
  select * from (
    select distinct on (name) name, state, unit,
      (select array_agg((x ->> 'value')::float8 order by x ->> 'startDateTime') from jsonb_array_elements(data) x) as values
    from warehouse.trends_now where external_id = $1 order by name, trend_end_date_time desc) t
  where values is not null order by state = 'stable', name limit 12`

const comparisonsQuery = `
  select name, value, unit, data from warehouse.comparisons_now where external_id = $1 and value is not null
    and local_date = (select max(local_date) from warehouse.comparisons_now where external_id = $1)
  order by name limit 12`

const changesQuery = `
  select type, local_date::text as day, value_before as before, value_after as after, changed_at as "changedAt"
  from warehouse.score_changes where external_id = $1 order by changed_at desc limit 20`
