import { hashBigint } from '../../src/pipeline/fleet/profile-buckets.ts'
import type { OrderKey } from '../../src/pipeline/transfer/order.ts'
import type { RunBucket } from '../../src/pipeline/warehouse/runs/run-buckets.ts'
import type { Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'

/** Takes the bucket of a profile; the other buckets are given back. */
async function takeBucketOf(runs: Runs, runId: string, profileId: string): Promise<RunBucket> {
  const hash = hashBigint(profileId)
  for (;;) {
    const bucket = await takeAnyBucket(runs, runId)
    if (hash >= bucket.firstHash && hash <= bucket.lastHash) return bucket
    await runs.releaseBucket(bucket, { enqueuedTo: bucket.enqueuedTo, restMs: 0 })
  }
}

async function takeAnyBucket(runs: Runs, runId: string): Promise<RunBucket> {
  const bucket = await runs.takeBucket(runId)
  if (bucket === undefined) throw new Error(`take bucket of run ${runId}: none is free`)
  return bucket
}

/** Records orders of profiles of one bucket, as a producer does with each page. */
export async function recordPage(runs: Runs, runId: string, orders: readonly OrderKey[]): Promise<void> {
  const bucket = await takeBucketOf(runs, runId, orders[0]?.profileId ?? '0')
  const afterId = orders.at(-1)?.profileId ?? '0'
  if (!(await runs.recordOrders(bucket, { orders, afterId }))) throw new Error(`record orders of run ${runId}: lost`)
  await runs.releaseBucket(bucket, { enqueuedTo: afterId, restMs: 0 })
}

/** Ends all buckets of a run: from then on it ends with its last job. */
export async function endBuckets(runs: Runs, runId: string): Promise<void> {
  while (!(await runs.endBucket(await takeAnyBucket(runs, runId))));
}
