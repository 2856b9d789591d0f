import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config/env.ts'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sentinel } from '../../jobs/sentinel.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { Problem } from '../errors.ts'
import { withSpan } from '../monitoring/traced-work.ts'
import type { Run } from '../warehouse/runs/stored-runs.ts'
import { type Producer, produce } from '../work/producer.ts'
import type { RecoverContext } from '../work/recover-run.ts'
import type { Pipeline } from './pipeline.ts'

const producers: readonly Producer[] = [nightly, sweep, sync, backfill, sentinel]

type ProduceRunContext = {
  readonly pipeline: Pick<Pipeline, 'profiles' | 'runs' | 'queue'>
  readonly config: Config
  readonly signal: AbortSignal
}

/** Enqueues a job for every profile that is due in a run, and returns how many. */
export async function produceRun({ pipeline, config, signal }: ProduceRunContext, run: Run): Promise<number> {
  const producer = producers.find(({ name }) => name === run.kind)
  if (!producer) throw new Problem(`produce run ${run.id}: this version knows no ${run.kind}`)
  const attributes = { 'vitalsync.run.id': run.id, 'vitalsync.run.kind': run.kind }
  return withSpan(`run ${run.kind}`, attributes, () =>
    produce(producer, run, {
      profiles: pipeline.profiles,
      runs: pipeline.runs,
      queue: pipeline.queue,
      sleep: (ms, stop) => wait(ms, undefined, { signal: stop }),
      signal,
      limits: { pageSize: 1000, backlogMax: config.backlogMax, pauseMs: 250 },
    }),
  )
}

/** The context in which `recoverRun` and `recoverRuns` enqueue lost orders again. */
export const recoverContextOf = (context: ProduceRunContext): RecoverContext => ({
  runs: context.pipeline.runs,
  producers,
  backlog: (lane) => context.pipeline.queue.backlog(lane),
  produce: (run) => produceRun(context, run),
})
