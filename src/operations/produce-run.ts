import type { Config } from '../../config/env.ts'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sentinel } from '../../jobs/sentinel.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { Problem } from '../base/errors.ts'
import { withSpan } from '../base/monitoring/traced-work.ts'
import { sleep } from '../base/sleep.ts'
import type { Run } from '../pipeline/warehouse/runs/stored-runs.ts'
import { type Produced, type Producer, produce } from '../pipeline/work/producer.ts'
import type { RecoverContext } from '../pipeline/work/recover-run.ts'
import type { Pipeline } from './pipeline.ts'

const producers: readonly Producer[] = [nightly, sweep, sync, backfill, sentinel]

type ProduceRunContext = {
  readonly pipeline: Pick<Pipeline, 'profiles' | 'runs' | 'queue'>
  readonly config: Config
  readonly signal: AbortSignal
}

/**
 * Enqueues a job for every profile that is due in a run, unless another process does it, and returns how many. `untilAll` returns
 * when the whole run is enqueued.
 */
export function produceRun(
  { pipeline: { profiles, runs, queue }, config, signal }: ProduceRunContext,
  run: Run,
  options?: { untilAll: boolean },
): Promise<Produced> {
  const producer = producers.find(({ name }) => name === run.kind)
  if (!producer) throw new Problem(`produce run ${run.id}: this version knows no ${run.kind}`)
  const attributes = { 'vitalsync.run.id': run.id, 'vitalsync.run.kind': run.kind }
  const limits = { pageSize: 1000, backlogMax: config.backlogMax, pauseMs: 250 }
  const context = { profiles, runs, queue, sleep, signal, limits, ...options }
  return withSpan(`run ${run.kind}`, attributes, () => produce(producer, run, context))
}

/** The context in which `recoverRun` and `recoverRuns` enqueue lost orders again. */
export const recoverContextOf = (context: ProduceRunContext): RecoverContext => ({
  runs: context.pipeline.runs,
  producers,
  backlog: (lane) => context.pipeline.queue.backlog(lane),
  produce: (run) => produceRun(context, run),
})
