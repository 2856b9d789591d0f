import { type EndedJob, type OrderKey, paramsText, parseParamsText } from '../../transfer/order.ts'
import type { Pool, Tx } from '../postgres/warehouse-pool.ts'

/**
 * Assignments for an update of `runs r`: the run ends when its last orders, `counted` of them now, have ended. `enqueuedAll`: as the
 * update leaves it.
 */
export const endWhenAllEnded = (counted: string, enqueuedAll = 'r.enqueued_all') => {
  const isOver = `r.state = 'running' and ${enqueuedAll} and r.done + r.failed + ${counted} >= r.enqueued`
  return `state = case when ${isOver} then 'done' else r.state end,
    ended_at = case when ${isOver} then clock_timestamp() else r.ended_at end`
}

/** Orders by the ids of their profiles; `lastId` is where the next page begins. */
export type OrderPage = { readonly orders: readonly OrderKey[]; readonly lastId: string }

/** The open orders of a run, as they were recorded: by a version that may order other params today. */
export async function listOpenOrders(
  pool: Pool,
  runId: string,
  page: { afterId: string; limit: number; upTo?: string },
): Promise<OrderPage> {
  const { rows } = await pool.query<StoredOrder>(
    `select profile_id as "profileId", job, scope from vitalsync.orders
     where run_id = $1 and profile_id > $2 and profile_id <= coalesce($4::int8, profile_id)
     order by profile_id limit $3`,
    [runId, page.afterId, page.limit, page.upTo ?? null],
  )
  return { orders: rows.map(orderKeyOf), lastId: rows.at(-1)?.profileId ?? page.afterId }
}

type StoredOrder = Pick<OrderKey, 'profileId' | 'job'> & { readonly scope: string }

const orderKeyOf = ({ profileId, job, scope }: StoredOrder): OrderKey => ({
  profileId,
  job,
  params: parseParamsText(scope),
})

/** The jobs and params that runs have ordered for a profile and whose jobs have not ended. */
export async function listOrdersOf(pool: Pool, profileId: string): Promise<OrderKey[]> {
  const { rows } = await pool.query<StoredOrder>(
    'select distinct profile_id as "profileId", job, scope from vitalsync.orders where profile_id = $1',
    [profileId],
  )
  return rows.map(orderKeyOf)
}

const countEndedSql = `
  with input as (
    select * from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::timestamptz[],
        $6::int8[], $7::int8[], $8::int8[], $9::int8[], $11::int8[])
      as i(profile_id, run_id, job, scope, begun_at, refused, requests, rows_read, rows_written, unchanged)
  ), fulfilled as (
    delete from vitalsync.orders o using input i
    where o.profile_id = i.profile_id and o.profile_id = any($1) and o.job = i.job and o.scope = i.scope
      and (o.run_id = i.run_id or o.ordered_at <= i.begun_at)
    returning o.run_id
  ), sums as (
    select run_id, sum(fulfilled) as fulfilled, sum(refused) as refused, sum(requests) as requests, sum(rows_read) as rows_read,
      sum(rows_written) as rows_written, sum(unchanged) as unchanged
    from (select run_id, 0 as fulfilled, refused, requests, rows_read, rows_written, unchanged from input
      union all select run_id, 1, 0, 0, 0, 0, 0 from fulfilled) as each
    group by run_id
  ), locked as (
    select id from vitalsync.runs where id = any(array(select run_id from sums)) order by id for update
  )
  update vitalsync.runs r set
    done = r.done + case when $10 = 'done' then s.fulfilled else 0 end,
    failed = r.failed + case when $10 = 'failed' then s.fulfilled else 0 end,
    refused = r.refused + s.refused, requests = r.requests + s.requests, rows_read = r.rows_read + s.rows_read,
    rows_written = r.rows_written + s.rows_written, unchanged = r.unchanged + s.unchanged, touched_at = clock_timestamp(), ${endWhenAllEnded('s.fulfilled')}
  from sums s, locked k where r.id = s.run_id and k.id = r.id`

/**
 * Counts ended jobs for their own run, and for every other run whose order the job carried out: an order that came while
 * the job waited was deduplicated. An order that came after the job had begun is left to the job that follows. The
 * order's row is deleted in the transaction that counts it: a job that runs twice counts once, and no order is lost. Pushed
 * items are counted by `countPushedItems`, whether or not their job comes to its end.
 */
export async function countEnded(tx: Tx, ended: readonly EndedJob[], outcome: 'done' | 'failed'): Promise<void> {
  const column = (cell: (job: EndedJob) => string | number | Date) => ended.map(cell)
  await tx.query({
    name: 'count ended',
    text: countEndedSql,
    values: [
      column(({ profileId }) => profileId),
      column(({ runId }) => runId),
      column(({ job }) => job),
      column(({ params }) => paramsText(params)),
      column(({ begunAtMs }) => new Date(begunAtMs)),
      column(({ counts }) => counts.refused),
      column(({ counts }) => counts.requests),
      column(({ counts }) => counts.rowsRead),
      column(({ counts }) => counts.rowsWritten),
      outcome,
      column(({ counts }) => counts.unchanged),
    ],
  })
}

/** Nothing remains to be done for a profile that is erased: its orders count as done. */
export async function deleteOrders(tx: Tx, profileId: string): Promise<number> {
  const { rowCount } = await tx.query(
    `with fulfilled as (delete from vitalsync.orders where profile_id = $1 returning run_id)
     update vitalsync.runs r set done = r.done + 1, ${endWhenAllEnded('1')} from fulfilled where r.id = fulfilled.run_id`,
    [profileId],
  )
  return rowCount ?? 0
}
