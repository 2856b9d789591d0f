import type { Config } from '../../../config/env.ts'
import { schedulesOf } from '../../../config/schedules.ts'
import type { Log } from '../../base/log.ts'
import { type Scheduler, startScheduler } from '../../pipeline/schedule/scheduler.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import { recoverRuns } from '../../pipeline/work/recover-run.ts'
import type { Pipeline } from '../pipeline.ts'
import { produceRun, recoverContextOf } from '../produce-run.ts'
import { concludeProduction, recoverSentinels } from './start-producing.ts'

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
