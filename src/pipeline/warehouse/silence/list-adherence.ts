import type { Pool } from '../postgres/warehouse-pool.ts'

/** The shares of valid days of a measure, week by week. `values`: of each week, null where nobody of the cohort was wanted. */
export type Adherence = {
  /** Every measure, also those that the owner of the warehouse has added. */
  readonly measures: readonly string[]
  /** Mondays. */
  readonly weeks: readonly string[]
  readonly cohorts: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<number | null> }>
  /** More people have a cohort than a page asks for. */
  readonly isTooLarge: boolean
}

/** The largest cohorts are shown. */
const COHORTS_MAX = 5
const WEEKS_MAX = 12
/** The view looks at each day of each person. */
const PEOPLE_MAX = 2000

/** Lists the last weeks of the largest cohorts, up to yesterday. */
export async function listAdherence(pool: Pool, measure: string): Promise<Adherence> {
  const { rows: sizes } = await pool.query<{ cohort: string; people: number }>(
    `select cohort, count(*)::int as people from vitalsync.profiles
     where cohort is not null and state <> 'gone' group by cohort order by people desc, cohort`,
  )
  const { rows: measures } = await pool.query<{ measure: string }>(
    'select measure from vitalsync.wear_measures order by measure',
  )
  const cohorts = sizes.slice(0, COHORTS_MAX)
  const known = { measures: measures.map((row) => row.measure), weeks: [], cohorts: [] }
  if (cohorts.reduce((sum, { people }) => sum + people, 0) > PEOPLE_MAX) return { ...known, isTooLarge: true }
  const { rows } = await pool.query<{ cohort: string; week: string; adherence: number }>(
    `select cohort, week::text as week, adherence from warehouse.adherence
     where measure = $1 and cohort = any($2) and week >= (now() at time zone 'UTC')::date - ${7 * WEEKS_MAX} order by week`,
    [measure, cohorts.map(({ cohort }) => cohort)],
  )
  const weeks = [...new Set(rows.map(({ week }) => week))]
  const shares = new Map(rows.map(({ cohort, week, adherence }) => [`${week} ${cohort}`, adherence]))
  return {
    ...{ ...known, weeks, isTooLarge: false },
    cohorts: cohorts.map(({ cohort }) => ({
      name: cohort,
      values: weeks.map((week) => shares.get(`${week} ${cohort}`) ?? null),
    })),
  }
}
