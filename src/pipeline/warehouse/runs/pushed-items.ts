import { binaryColumn } from '../postgres/binary-format.ts'
import type { Tx } from '../postgres/warehouse-pool.ts'

/** Parcels of a profile that were deleted because upstream took their items. */
export type DeletedParcels = {
  readonly profileId: string
  /** The run whose job pushed them; undefined outside of a run. */
  readonly runId: string | undefined
  /** Items that still waited in them. */
  readonly items: number
}

/**
 * Adds pushed items to the run that pushed them, and to every other run that has an open order for the profile. Call it
 * last in the transaction that deletes the parcels: a parcel is deleted once, so an item counts once however often it was
 * sent, and a run's row is locked for the commit only. `offset 0` makes Postgres look orders up by profile: there may be few when the
 * plan is made, and many when it is used.
 */
export async function countPushedItems(tx: Tx, deleted: readonly DeletedParcels[]): Promise<void> {
  if (deleted.length === 0) return
  await tx.query({
    name: 'count pushed items',
    text: `with input as materialized (
        select * from unnest($1::int8[], $2::int8[], $3::int8[]) as i(profile_id, run_id, items)
      ), sums as (
        select run_id, sum(own) as own, sum(elsewhere) as elsewhere from (
          select run_id, items as own, 0 as elsewhere from input where run_id is not null
          union all
          select o.run_id, 0, i.items from input i
            cross join lateral (select o.run_id from vitalsync.orders o where o.profile_id = i.profile_id
              and o.run_id is distinct from i.run_id offset 0) o
        ) each group by run_id
      ), locked as (
        select id from vitalsync.runs where id = any(array(select run_id from sums)) order by id for update
      )
      update vitalsync.runs r set items_pushed = r.items_pushed + s.own,
        items_pushed_elsewhere = r.items_pushed_elsewhere + s.elsewhere, touched_at = clock_timestamp()
      from sums s, locked k where r.id = s.run_id and k.id = r.id`,
    values: [
      binaryColumn('int8', deleted, ({ profileId }) => profileId),
      binaryColumn('int8', deleted, ({ runId }) => runId ?? null),
      binaryColumn('int8', deleted, ({ items }) => items),
    ],
  })
}
