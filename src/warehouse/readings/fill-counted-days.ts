import type { Pool } from '../postgres/warehouse-pool.ts'

/** Rows that one statement fills: its locks are short, however many there are. */
const ROWS_AT_ONCE = 1000

/** Rows that a worker is just replacing are left out: the worker fills them. */
const fillSql = `
  with portion as materialized (
    select ctid, profile_id from vitalsync.biomarkers
    where counts_for is null and local_date is not null and profile_id >= $1
    order by profile_id limit ${ROWS_AT_ONCE} for update skip locked
  ), filled as (
    update vitalsync.biomarkers r set counts_for = vitalsync.day_in_text(r.local_date, r.periodicity, r.body)
    from portion where r.ctid = portion.ctid
  )
  select count(*)::int as rows, max(profile_id)::text as last from portion`

/**
 * Fills `counts_for` of biomarkers that were stored before there was such a column. Workers go on meanwhile, and the views
 * are right before and after it, only slower before. Where it was stopped, the next call goes on. Tells once when there are many.
 */
export async function fillCountedDays(pool: Pool, tellMany: () => void): Promise<void> {
  let fromId = '0'
  for (let portions = 0; ; portions += 1) {
    if (portions === 1) tellMany()
    const { rows } = await pool.query<{ rows: number; last: string | null }>(fillSql, [fromId])
    fromId = rows[0]?.last ?? fromId
    if ((rows[0]?.rows ?? 0) < ROWS_AT_ONCE) return
  }
}
