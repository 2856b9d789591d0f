import type { Pool, Tx } from './pool.ts'
import type { ProfilePage } from './profiles.ts'

/** What a run wants done for a person: the same job, of the same scope, whichever run it belongs to. */
export type PlacedOrder = { readonly profileId: string; readonly job: string; readonly scope: string }

/** A job that has come to its end, with what it did. */
export type EndedJob = PlacedOrder & {
  readonly runId: string | undefined
  /** Milliseconds since 1970 by the database's clock. */
  readonly begunAtMs: number
  readonly counts: JobCounts
}

export type JobCounts = {
  readonly requests: number
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly itemsPushed: number
  readonly refused: number
}

/** Ends a run with the last of its orders. */
export const ending = (counted: string) => {
  const isOver = `r.state = 'running' and r.enqueued_all and r.done + r.failed + ${counted} >= r.enqueued`
  return `state = case when ${isOver} then 'done' else r.state end,
    ended_at = case when ${isOver} then clock_timestamp() else r.ended_at end`
}

/** Written before the queue hears of them: dying in between leaves orders that are enqueued again, never a job uncounted. */
export async function placeOrders(
  pool: Pool,
  runId: string,
  { orders, afterId }: { orders: readonly PlacedOrder[]; afterId: string },
): Promise<void> {
  await pool.query(
    `with placed as (
       insert into vitalsync.orders (run_id, profile_id, job, scope)
       select $1, i.profile_id, i.job, i.scope from unnest($2::int8[], $3::text[], $4::text[]) as i(profile_id, job, scope)
       on conflict do nothing returning 1
     )
     update vitalsync.runs set after_id = $5, enqueued = enqueued + (select count(*) from placed),
       touched_at = clock_timestamp() where id = $1`,
    [
      runId,
      orders.map(({ profileId }) => profileId),
      orders.map(({ job }) => job),
      orders.map(({ scope }) => scope),
      afterId,
    ],
  )
}

export async function openOrders(
  pool: Pool,
  runId: string,
  page: { afterId: string; limit: number },
): Promise<ProfilePage> {
  const { rows } = await pool.query<{ id: string }>(
    'select profile_id as id from vitalsync.orders where run_id = $1 and profile_id > $2 order by profile_id limit $3',
    [runId, page.afterId, page.limit],
  )
  const ids = rows.map((row) => row.id)
  return { ids, lastId: ids.at(-1) ?? page.afterId }
}

/**
 * Counts jobs that have ended, for their own run and for every run whose order they did: one that came while the job
 * waited was folded into it. One that came after it had begun is left to the job that follows. The order's row goes in
 * the transaction that counts it, so that a job that is done twice counts once, and none that was ordered is forgotten.
 */
export async function countEnded(tx: Tx, ended: readonly EndedJob[], outcome: 'done' | 'failed'): Promise<void> {
  const column = (cell: (job: EndedJob) => string | number | Date | null) => ended.map(cell)
  await tx.query({
    name: 'count ended',
    text: `with input as (
        select * from unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::timestamptz[],
            $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[])
          as i(profile_id, run_id, job, scope, begun_at, refused, requests, rows_read, rows_written, items_pushed)
      ), met as (
        delete from vitalsync.orders o using input i
        where o.profile_id = i.profile_id and o.job = i.job and o.scope = i.scope
          and (o.run_id = i.run_id or o.ordered_at <= i.begun_at)
        returning o.run_id
      ), sums as (
        select run_id, sum(met) as met, sum(refused) as refused, sum(requests) as requests, sum(rows_read) as rows_read,
          sum(rows_written) as rows_written, sum(items_pushed) as items_pushed
        from (select run_id, 0 as met, refused, requests, rows_read, rows_written, items_pushed from input
          union all select run_id, 1, 0, 0, 0, 0, 0 from met) as each
        where run_id is not null group by run_id
      ), locked as (
        select r.id from vitalsync.runs r join sums s on s.run_id = r.id order by r.id for update of r
      )
      update vitalsync.runs r set
        done = r.done + case when $11 = 'done' then s.met else 0 end,
        failed = r.failed + case when $11 = 'failed' then s.met else 0 end,
        refused = r.refused + s.refused, requests = r.requests + s.requests, rows_read = r.rows_read + s.rows_read,
        rows_written = r.rows_written + s.rows_written, items_pushed = r.items_pushed + s.items_pushed,
        touched_at = clock_timestamp(), ${ending('s.met')}
      from sums s, locked k where r.id = s.run_id and k.id = r.id`,
    values: [
      column(({ profileId }) => profileId),
      column(({ runId }) => runId ?? null),
      column(({ job }) => job),
      column(({ scope }) => scope),
      column(({ begunAtMs }) => new Date(begunAtMs)),
      column(({ counts }) => counts.refused),
      column(({ counts }) => counts.requests),
      column(({ counts }) => counts.rowsRead),
      column(({ counts }) => counts.rowsWritten),
      column(({ counts }) => counts.itemsPushed),
      outcome,
    ],
  })
}

/** A person who is erased needs nothing done any more. */
export async function dropOrders(tx: Tx, profileId: string): Promise<number> {
  const { rowCount } = await tx.query(
    `with met as (delete from vitalsync.orders where profile_id = $1 returning run_id)
     update vitalsync.runs r set done = r.done + 1, ${ending('1')} from met where r.id = met.run_id`,
    [profileId],
  )
  return rowCount ?? 0
}
