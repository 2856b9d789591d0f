import { catalogue } from '../../config/streams.ts'
import type { Enqueuer } from '../pipeline/queue/enqueue.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import {
  createFailures,
  type FailureFilter,
  type RepeatableBackfill,
} from '../pipeline/warehouse/runs/stored-failures.ts'
import { createRuns } from '../pipeline/warehouse/runs/stored-runs.ts'
import { produceRun } from './produce-run.ts'

type RetryContext = Omit<Parameters<typeof produceRun>[0], 'pipeline'> & {
  readonly pool: Pool
  readonly tokenKeys: readonly Buffer[]
  /** Opens the queue, which only failed back-fills need. */
  joinQueue(): Promise<Enqueuer>
}

/** Makes failures due again. Returns how many, and how many of them wait in the queue for a worker. */
export async function retryRecordedFailures(
  { pool, tokenKeys, joinQueue, ...context }: RetryContext,
  filter: FailureFilter,
): Promise<{ retried: number; enqueued: number; due: number }> {
  const failures = createFailures({ pool })
  const backfills = await failures.listBackfills(filter)
  const queue = backfills.length > 0 ? await joinQueue() : undefined
  // Before the jobs are enqueued: a job skips windows that are refused until a later time.
  const due = await failures.retry(filter)
  const pipeline = queue && {
    queue,
    runs: createRuns({ pool }),
    profiles: createProfiles({ pool, catalogue, tokenKeys }),
  }
  if (pipeline) for (const backfill of backfills) await produceBackfillAgain({ ...context, pipeline }, backfill)
  const enqueued = backfills.reduce((sum, backfill) => sum + backfill.failures, 0)
  return { retried: due + enqueued, enqueued, due }
}

async function produceBackfillAgain(
  context: Parameters<typeof produceRun>[0],
  { params, profileIds }: RepeatableBackfill,
): Promise<void> {
  await produceRun(context, await context.pipeline.runs.create('backfill', { ...params, profileIds }))
}
