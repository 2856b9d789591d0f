import type { Config } from '../../../config/env.ts'
import { schedulesOf } from '../../../config/schedules.ts'
import type { Log } from '../../base/log.ts'
import { type Scheduler, startScheduler } from '../../pipeline/schedule/scheduler.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import type { Produced } from '../../pipeline/work/producer.ts'
import { recoverRuns } from '../../pipeline/work/recover-run.ts'
import type { Pipeline } from '../pipeline.ts'
import { produceRun, recoverContextOf } from '../produce-run.ts'
import { createSentinelRun } from './start-sentinel.ts'

type ProducingContext = {
  readonly pipeline: Pipeline
  readonly config: Config
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * After a nightly, the process that enqueued the last of it creates its sentinel. A sentinel that could not be created is left to
 * `recoverSentinels`.
 */
async function concludeProduction(context: ProducingContext, run: Run, produced: Produced): Promise<void> {
  if (produced.enqueued > 0) context.log.info({ run: run.id, kind: run.kind, profiles: produced.enqueued }, 'enqueued')
  if (run.kind === 'nightly' && produced.isLast) await sendSentinel(context, run)
}

async function sendSentinel(context: ProducingContext, nightly: Run): Promise<void> {
  const sentinel = await createSentinelRun(context, nightly)
  if (sentinel) await produceRun(context, sentinel)
}

/**
 * Creates the sentinels of nightlies that were left without: the process that enqueued the last of them died before it came to that,
 * or its draw failed. One process at a time takes a nightly, when nobody has worked on it for `idleMs`.
 */
export async function recoverSentinels(context: ProducingContext, idleMs: number): Promise<void> {
  if (context.config.sentinelShare === 0) return
  for (const nightly of await context.pipeline.runs.takeUnwatched(idleMs)) await sendSentinel(context, nightly)
}

/** Produces the runs of all schedules, and recovers runs, until closed. */
export function startProducingScheduler(pipeline: Pipeline, config: Config, log: Log): Promise<Scheduler> {
  const produce = async (run: Run, signal: AbortSignal) => {
    const context = { pipeline, config, log, signal }
    await concludeProduction(context, run, await produceRun(context, run))
  }
  return startScheduler({
    schedules: schedulesOf(config.schedule),
    runs: pipeline.runs,
    now: pipeline.clock.now,
    produce,
    async recoverRuns(idleMs, signal) {
      const context = recoverContextOf({ pipeline, config, signal })
      await recoverRuns({ ...context, produce: (run) => produce(run, signal) }, idleMs)
      await recoverSentinels({ pipeline, config, log, signal }, idleMs)
    },
    log,
  })
}
