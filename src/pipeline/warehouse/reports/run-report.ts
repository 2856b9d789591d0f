import type { Pool } from '../postgres/warehouse-pool.ts'

/** A finished run as later ones are compared with it. */
type FormerRun = {
  readonly id: string
  readonly startedAt: Date
  readonly tookMs: number
  readonly people: number
  readonly requests: number
  readonly rowsRead: number
  readonly rowsWritten: number
}

/** A nightly and the two weeks before it. */
const COMPARED_RUNS = 14
const COMPARED_RUNS_MIN = 3

const tookMs = `(extract(epoch from ended_at - started_at) * 1000)::float8`

/** The finished runs of a kind before a run, the newest first. Runs that found nothing to do say nothing of how long work takes. */
export async function readFormerRuns(pool: Pool, { id, kind }: { id: string; kind: string }): Promise<FormerRun[]> {
  const { rows } = await pool.query<FormerRun>(
    `select id, started_at as "startedAt", ${tookMs} as "tookMs", done::float8 as people, requests::float8 as requests,
       rows_read::float8 as "rowsRead", rows_written::float8 as "rowsWritten"
     from vitalsync.runs where kind = $1 and id < $2 and state = 'done' and done > 0 and ended_at is not null
     order by id desc limit ${COMPARED_RUNS}`,
    [kind, id],
  )
  return rows
}

/** How long the fourteen runs of its kind before each run took, in the middle. Runs with fewer than three before them have none. */
export async function readUsualSpans(pool: Pool, runIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ id: string; usualMs: number }>(
    `select w.id, (select percentile_cont(0.5) within group (order by t) from unnest(w.former) t) as "usualMs"
     from (
       select id, array_agg(${tookMs}) filter (where state = 'done' and done > 0)
         over (partition by kind order by id rows between ${COMPARED_RUNS} preceding and 1 preceding) as former
       from vitalsync.runs where done > 0 or state = 'running' or id = any($1)
     ) w
     where w.id = any($1) and cardinality(w.former) >= ${COMPARED_RUNS_MIN}`,
    [runIds],
  )
  return new Map(rows.map(({ id, usualMs }) => [id, usualMs]))
}

/** For how many of the people that a run has still to finish upstream derives from pushed items. */
export async function countDeriving(pool: Pool, runId: string): Promise<number> {
  const { rows } = await pool.query<{ people: number }>(
    `select count(distinct l.profile_id)::int as people from (
       select distinct profile_id from vitalsync.orders where run_id = $1) o
     join vitalsync.ledger l on l.profile_id = o.profile_id where l.digesting <> '{}'`,
    [runId],
  )
  return rows[0]?.people ?? 0
}
