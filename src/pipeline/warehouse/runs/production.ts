import { SECOND } from '../../../base/time/units.ts'
import { JOB_FORM, type OrderKey, paramsText } from '../../transfer/order.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import { endWhenAllEnded, listOpenOrders } from './open-orders.ts'

/** How long a producer keeps a run after its last renewal; then another process may take it. */
const PRODUCING_LEASE_MS = 30 * SECOND
export const PRODUCING_LEASE_RENEWED_MS = PRODUCING_LEASE_MS / 3

/** The enqueuing of a run, which this process has leased, and how far it came. */
export type Production = {
  readonly runId: string
  readonly lease: string
  /** The last profile whose order is recorded. */
  readonly afterId: string
  /** Up to this profile the orders were enqueued; later recorded orders perhaps not. */
  readonly enqueuedTo: string
}

type OrdersToRecord = { readonly orders: readonly OrderKey[]; readonly afterId: string }

export const createProductions = (pool: Pool) => ({
  /** Leases the enqueuing of a run to this process; undefined while another has it, when the run is enqueued in full, and when it is of a newer version. */
  async takeProduction(runId: string): Promise<Production | undefined> {
    const { rows } = await pool.query<Production>(
      `update vitalsync.runs set held_by = gen_random_uuid(), held_until = ${leasedUntil}, form = ${JOB_FORM}
       where id = $1 and form <= ${JOB_FORM} and state = 'running' and not enqueued_all and (held_until is null or held_until < clock_timestamp())
       returning id as "runId", after_id as "afterId", enqueued_to as "enqueuedTo", held_by as lease`,
      [runId],
    )
    return rows[0]
  },
  /** A sign of life of the producer, and so of the run. Call it each `PRODUCING_LEASE_RENEWED_MS` while the run is held. */
  async renewProduction(production: Production) {
    await pool.query(
      `update vitalsync.runs set held_until = ${leasedUntil}, touched_at = clock_timestamp() where ${isHeld}`,
      heldOf(production),
    )
  },
  async releaseProduction(production: Production, enqueuedTo: string) {
    await pool.query(`update vitalsync.runs set enqueued_to = $3, held_by = null, held_until = null where ${isHeld}`, [
      ...heldOf(production),
      enqueuedTo,
    ])
  },
  /** Records a page of orders, before it is enqueued. False: the run is no longer this process's. */
  recordOrders: (production: Production, page: OrdersToRecord) => recordOrders(pool, production, page),
  /** All orders of the run are recorded and enqueued: from now on it ends with the last of its jobs. False: the run is no longer this process's. */
  async endProduction(production: Production) {
    const { rowCount } = await pool.query(
      `update vitalsync.runs r set enqueued_all = true, held_by = null, held_until = null, touched_at = clock_timestamp(),
         ${endWhenAllEnded('0', 'true')} where ${isHeld}`,
      heldOf(production),
    )
    return rowCount === 1
  },
  /** The next open orders that a former producer may not have enqueued. */
  listUncertainOrders: ({ runId, afterId: upTo }: Production, afterId: string, limit: number) =>
    listOpenOrders(pool, runId, { afterId, limit, upTo }),
})

const leasedUntil = `clock_timestamp() + interval '${PRODUCING_LEASE_MS} milliseconds'`

/** Matches the run while its lease is held; no row where another process took it, or the run was stopped. */
const isHeld = `id = $1 and held_by = $2 and state = 'running'`
const heldOf = ({ runId, lease }: Production) => [runId, lease]

/**
 * Records orders before they are enqueued: a process that dies in between leaves open orders, which are enqueued again,
 * and never a job that no run counts. Records nothing, and answers false, when another process has taken the run or the run
 * was stopped. The orders of the page before must be enqueued by now.
 */
async function recordOrders(pool: Pool, production: Production, { orders, afterId }: OrdersToRecord): Promise<boolean> {
  const { rowCount } = await pool.query(
    `with held as (
       select id from vitalsync.runs where ${isHeld} for update
     ), recorded as (
       insert into vitalsync.orders (run_id, profile_id, job, scope)
       select held.id, i.profile_id, i.job, i.scope
       from held, unnest($4::int8[], $5::text[], $6::text[]) as i(profile_id, job, scope)
       on conflict do nothing returning 1
     )
     update vitalsync.runs r set enqueued_to = r.after_id, after_id = $3, held_until = ${leasedUntil},
       enqueued = r.enqueued + (select count(*) from recorded), touched_at = clock_timestamp()
     from held where r.id = held.id`,
    [
      ...heldOf(production),
      afterId,
      orders.map(({ profileId }) => profileId),
      orders.map(({ job }) => job),
      orders.map(({ params }) => paramsText(params)),
    ],
  )
  return rowCount === 1
}
