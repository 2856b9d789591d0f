import type { Pool } from '../postgres/warehouse-pool.ts'

/** Rows that one statement fills: its locks are short, however many there are. */
const ROWS_AT_ONCE = 1000
const PROFILES_AT_ONCE = 100

const unfilledSql = `select distinct profile_id as id from vitalsync.biomarkers
  where counts_for is null and local_date is not null and profile_id > $1 order by profile_id limit ${PROFILES_AT_ONCE}`

/** Rows that a worker is just replacing are left out: the worker fills them. */
const fillSql = `
  with portion as materialized (
    select ctid, profile_id from vitalsync.biomarkers
    where counts_for is null and local_date is not null and profile_id = any($1)
    order by profile_id limit ${ROWS_AT_ONCE} for update skip locked
  )
  update vitalsync.biomarkers r set counts_for = vitalsync.day_in_text(r.local_date, r.periodicity, r.body)
  from portion where r.ctid = portion.ctid and r.profile_id = any($1)`

/**
 * Fills `counts_for` of biomarkers that were stored before there was such a column. Workers go on meanwhile, and the views
 * are right before and after it, only slower before. Where it was stopped, the next call goes on. Tells once when there are many.
 */
export async function fillCountedDays(pool: Pool, tellMany: () => void): Promise<void> {
  let isTold = false
  for (let afterId = '0'; ; ) {
    const { rows: page } = await pool.query<{ id: string }>(unfilledSql, [afterId])
    const lastId = page.at(-1)?.id
    if (!lastId) return
    for (const bucket of pool.buckets.split(page, ({ id }) => id)) {
      for (let filled = ROWS_AT_ONCE; filled === ROWS_AT_ONCE; ) {
        filled = (await pool.query(fillSql, [bucket.map(({ id }) => id)])).rowCount ?? 0
        if (filled === ROWS_AT_ONCE && !isTold) {
          isTold = true
          tellMany()
        }
      }
    }
    afterId = lastId
  }
}
