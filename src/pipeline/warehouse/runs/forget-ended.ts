import type { Pool } from '../postgres/warehouse-pool.ts'

/** Rows that one statement deletes: its locks are short, however much there is to forget. */
const ROWS_AT_ONCE = 1000

/**
 * The newest slot of each schedule stays for ever: it says which slots have happened. A run keeps its slot as long as it
 * stays itself.
 */
const forgetRunsSql = `
  with old as materialized (
    select id from vitalsync.runs where state <> 'running' and ended_at < clock_timestamp() - $1 * interval '1 millisecond' order by id limit ${ROWS_AT_ONCE}
  ), newest as materialized (
    select schedule, max(slot_at) as slot_at from vitalsync.slots group by schedule
  ), left_orders as (
    delete from vitalsync.orders o using old where o.run_id = old.id
  ), kept_slots as (
    update vitalsync.slots s set run_id = null from newest n, old
    where s.schedule = n.schedule and s.slot_at = n.slot_at and s.run_id = old.id
  ), old_slots as (
    delete from vitalsync.slots s using old
    where s.run_id = old.id and (s.schedule, s.slot_at) not in (select schedule, slot_at from newest)
  ), forgotten as (
    delete from vitalsync.runs r using old where r.id = old.id returning 1
  )
  select count(*)::int as n from forgotten`

/** How long expired tokens are kept: after that neither they nor their refresh tokens are of use. */
const forgetTokensSql = `
  with old as materialized (
    select ctid from vitalsync.tokens
    where expires_at < clock_timestamp() - $1 * interval '1 millisecond' and coalesce(lease_until, '-infinity') < clock_timestamp() limit ${ROWS_AT_ONCE}
  ), forgotten as (
    delete from vitalsync.tokens t using old where t.ctid = old.ctid returning 1
  )
  select count(*)::int as n from forgotten`

export type ForgottenRows = { readonly runs: number; readonly tokens: number }

export async function forgetEnded(pool: Pool, keptMs: number): Promise<ForgottenRows> {
  return {
    runs: await repeat(pool, forgetRunsSql, keptMs),
    tokens: await repeat(pool, forgetTokensSql, keptMs),
  }
}

async function repeat(pool: Pool, statement: string, keptMs: number): Promise<number> {
  for (let total = 0; ; ) {
    const { rows } = await pool.query<{ n: number }>(statement, [keptMs])
    const forgotten = rows[0]?.n ?? 0
    total += forgotten
    if (forgotten < ROWS_AT_ONCE) return total
  }
}
