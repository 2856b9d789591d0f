import { type BucketHashes, isEverybody, PRODUCING_LEASE_MS, type ProfileBuckets } from '../../fleet/profile-buckets.ts'
import { type OrderKey, paramsText } from '../../transfer/order.ts'
import type { ProfilePage } from '../../transfer/planned-profile.ts'
import { type Pool, transaction } from '../postgres/warehouse-pool.ts'
import { endWhenAllEnded, listOpenOrders } from './open-orders.ts'

/** A bucket of a run that this process has taken, and how far its former producers came. */
export type RunBucket = BucketHashes & {
  readonly runId: string
  readonly lease: string
  /** The last profile whose order is recorded. */
  readonly afterId: string
  /** Up to this profile the orders were enqueued; later recorded orders perhaps not. */
  readonly enqueuedTo: string
}

export type RunBuckets = {
  /** Leases a bucket of the run to this process; undefined when none is free. */
  takeBucket(runId: string): Promise<RunBucket | undefined>
  /** Call it each `PRODUCING_LEASE_RENEWED_MS` while the bucket is held. */
  renewBucket(bucket: RunBucket): Promise<void>
  releaseBucket(bucket: RunBucket, release: BucketRelease): Promise<void>
  /** Records a page of orders, before it is enqueued. False: the bucket is no longer this process's. */
  recordOrders(bucket: RunBucket, page: OrderPage): Promise<boolean>
  /** All orders of the bucket are recorded and enqueued. True: of all buckets of the run. */
  endBucket(bucket: RunBucket): Promise<boolean>
  /** The next open orders of a bucket that a former producer may not have enqueued. */
  listUncertainOrders(bucket: RunBucket, afterId: string, limit: number): Promise<ProfilePage>
}

type OrderPage = { readonly orders: readonly OrderKey[]; readonly afterId: string }

export const createRunBuckets = (pool: Pool): RunBuckets => ({
  takeBucket: (runId) => takeBucket(pool, runId),
  renewBucket: (bucket) => renewBucket(pool, bucket),
  releaseBucket: (bucket, release) => releaseBucket(pool, bucket, release),
  recordOrders: (bucket, page) => recordOrders(pool, bucket, page),
  endBucket: (bucket) => endBucket(pool, bucket),
  listUncertainOrders: (bucket, afterId, limit) =>
    listOpenOrders(pool, bucket.runId, { afterId, limit, upTo: bucket.afterId }, bucket),
})

const leasedUntil = `clock_timestamp() + interval '${PRODUCING_LEASE_MS} milliseconds'`

/** Parameters of a statement that creates a run: the buckets that have its profiles. */
export function bucketParameters(buckets: ProfileBuckets, params: Readonly<Record<string, unknown>>): number[][] {
  const { profileIds } = params
  const named = Array.isArray(profileIds) ? [...new Set(profileIds.map((id) => buckets.of(String(id))))] : undefined
  const all = named?.length ? named : Array.from({ length: named ? 1 : buckets.count }, (_, bucket) => bucket)
  const hashes = all.map((bucket) => buckets.hashesOf(bucket))
  return [hashes.map(({ firstHash }) => firstHash), hashes.map(({ lastHash }) => lastHash)]
}

/**
 * Leases the bucket of a run that waits the longest for its next page; undefined when none is free. All buckets take turns,
 * so that the jobs that wait are of all buckets, and their nodes work at once.
 */
async function takeBucket(pool: Pool, runId: string): Promise<RunBucket | undefined> {
  const { rows } = await pool.query<RunBucket>(
    `with next as (
       select b.first_hash from vitalsync.run_buckets b join vitalsync.runs r on r.id = b.run_id
       where b.run_id = $1 and r.state = 'running' and not r.enqueued_all and ${isFree}
       order by b.taken_at nulls first, b.first_hash limit 1 for update of b skip locked
     )
     update vitalsync.run_buckets b
     set held_by = gen_random_uuid(), held_until = ${leasedUntil}, taken_at = clock_timestamp()
     from next where b.run_id = $1 and b.first_hash = next.first_hash
     returning b.run_id as "runId", b.first_hash as "firstHash", b.last_hash as "lastHash", b.after_id as "afterId",
       b.enqueued_to as "enqueuedTo", b.held_by as lease`,
    [runId],
  )
  return rows[0]
}

/** A condition on `run_buckets b`. */
export const isFree = '(b.held_until is null or b.held_until < clock_timestamp())'

/** Matches the bucket whose lease is held; no row where another process took it, or the run was stopped. */
const isHeld = 'run_id = $1 and first_hash = $2 and held_by = $3'
const heldOf = ({ runId, firstHash, lease }: RunBucket) => [runId, firstHash, lease]

/** A sign of life of the producer, which the run shows too. */
async function renewBucket(pool: Pool, bucket: RunBucket): Promise<void> {
  await pool.query(
    `with held as (update vitalsync.run_buckets set held_until = ${leasedUntil} where ${isHeld} returning run_id)
     update vitalsync.runs r set touched_at = clock_timestamp() from held where r.id = held.run_id`,
    heldOf(bucket),
  )
}

type BucketRelease = {
  readonly enqueuedTo: string
  /** How long no process takes the bucket. */
  readonly restMs: number
}

async function releaseBucket(pool: Pool, bucket: RunBucket, release: BucketRelease): Promise<void> {
  await pool.query(
    `update vitalsync.run_buckets set enqueued_to = $4, held_by = null, taken_at = clock_timestamp(),
       held_until = clock_timestamp() + $5 * interval '1 millisecond' where ${isHeld}`,
    [...heldOf(bucket), release.enqueuedTo, release.restMs],
  )
}

/**
 * Records orders before they are enqueued: a process that dies in between leaves open orders, which are enqueued again,
 * and never a job that no run counts. Records nothing, and answers false, when another process has taken the bucket or the run
 * was stopped. The orders of the page before must be enqueued by now.
 */
async function recordOrders(pool: Pool, bucket: RunBucket, { orders, afterId }: OrderPage): Promise<boolean> {
  const { rowCount } = await pool.query(
    `with held as (
       update vitalsync.run_buckets set enqueued_to = after_id, after_id = $4, held_until = ${leasedUntil}
       where ${isHeld} returning run_id
     ), recorded as (
       insert into vitalsync.orders (run_id, profile_id, job, scope)
       select held.run_id, i.profile_id, i.job, i.scope
       from held, unnest($5::int8[], $6::text[], $7::text[]) as i(profile_id, job, scope)
       on conflict do nothing returning 1
     )
     update vitalsync.runs r set after_id = case when $8 then $4 else r.after_id end,
       enqueued = r.enqueued + (select count(*) from recorded), touched_at = clock_timestamp()
     from held where r.id = held.run_id`,
    [
      ...heldOf(bucket),
      afterId,
      orders.map(({ profileId }) => profileId),
      orders.map(({ job }) => job),
      orders.map(({ params }) => paramsText(params)),
      isEverybody(bucket),
    ],
  )
  return rowCount === 1
}

/**
 * The whole bucket is enqueued. With the last bucket the run is enqueued in full: from then on it ends with the last of its
 * jobs. True for the last one. The lock on the run lets buckets that end at the same time see each other.
 */
async function endBucket(pool: Pool, bucket: RunBucket): Promise<boolean> {
  const { runId } = bucket
  return transaction(pool, async (tx) => {
    await tx.query('select from vitalsync.runs where id = $1 for update', [runId])
    const ended = await tx.query(`delete from vitalsync.run_buckets where ${isHeld}`, heldOf(bucket))
    if (ended.rowCount === 0) return false
    const { rowCount } = await tx.query(
      `update vitalsync.runs r set enqueued_all = true, touched_at = clock_timestamp()
       where id = $1 and not exists (select from vitalsync.run_buckets where run_id = $1)`,
      [runId],
    )
    if (rowCount === 0) return false
    await tx.query(`update vitalsync.runs r set ${endWhenAllEnded('0')} where id = $1`, [runId])
    return true
  })
}
