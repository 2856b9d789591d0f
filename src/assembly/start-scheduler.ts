import type { Config } from '../../config/env.ts'
import { schedulesOf } from '../../config/schedules.ts'
import type { Log } from '../log.ts'
import { type Scheduler, startScheduler } from '../schedule/scheduler.ts'
import { DAY } from '../time/units.ts'
import type { Run } from '../warehouse/runs/stored-runs.ts'
import { recoverRuns } from '../work/recover-run.ts'
import type { Pipeline } from './pipeline.ts'
import { produceRun, recoverContextOf } from './produce-run.ts'
import { createSentinelRun } from './start-sentinel.ts'

/** Produces the runs of all schedules, and recovers runs, until closed. */
export function startProducingScheduler(pipeline: Pipeline, config: Config, log: Log): Promise<Scheduler> {
  const produce = async (run: Run, signal: AbortSignal) => {
    const enqueued = await produceRun({ pipeline, config, signal }, run)
    if (enqueued > 0) log.info({ run: run.id, kind: run.kind, profiles: enqueued }, 'enqueued')
    const sentinel = run.kind === 'nightly' ? await createSentinelRun({ pipeline, config }, run) : undefined
    if (sentinel) await produceRun({ pipeline, config, signal }, sentinel)
    if (run.kind === 'nightly') await forgetOld(pipeline, config, log)
  }
  return startScheduler({
    schedules: schedulesOf(config.schedule),
    runs: pipeline.runs,
    now: pipeline.clock.now,
    produce,
    recoverRuns: (idleMs, signal) => {
      const context = recoverContextOf({ pipeline, config, signal })
      return recoverRuns({ ...context, produce: (run) => produce(run, signal) }, idleMs)
    },
    log,
  })
}

async function forgetOld({ runs }: Pipeline, { runsKeptDays }: Config, log: Log): Promise<void> {
  const forgotten = await runs.forgetEnded(runsKeptDays * DAY)
  if (forgotten.runs + forgotten.tokens > 0) log.info({ ...forgotten }, 'forgot what ended long ago')
}
