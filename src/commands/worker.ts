import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config/env.ts'
import type { Log } from '../log.ts'
import { aborted } from './aborted.ts'
import { openClosing } from './closing.ts'
import { isIdle } from './follow.ts'
import { addressesOf, openPipeline } from './pipeline.ts'
import { startTicks, startWork } from './work.ts'

export type WorkerOptions = {
  readonly config: Config
  readonly log: Log
  /** Leaves when nothing is due and nothing waits. */
  readonly drain: boolean
  readonly signal: AbortSignal
}

const LOOK_EVERY_MS = 500
/** How often in a row the queue must be found empty: a producer may be between two pages. */
const LOOKS = 3

/** Works on jobs until SIGTERM; then takes no new one, lets those under way finish, and leaves. */
export async function runWorker({ config, log, drain, signal }: WorkerOptions): Promise<number> {
  const closing = openClosing()
  const stop = new AbortController()
  const stopped = AbortSignal.any([signal, stop.signal])
  try {
    const addresses = addressesOf(config)
    const pipeline = closing.add(
      await openPipeline({ config, addresses, log, onSkewed: (error) => stop.abort(error) }),
      'pipeline',
    )
    closing.add(startWork({ pipeline, config, log, onSilent: (problem) => stop.abort(problem) }), 'worker')
    log.info({ queue: pipeline.engine.kind, concurrency: config.concurrency }, 'worker is ready')
    for (let empty = 0; !stopped.aborted && !(drain && empty >= LOOKS); ) {
      await wait(LOOK_EVERY_MS, undefined, { signal: stopped }).catch(() => undefined) // aborted: the loop ends
      if (drain && !stopped.aborted)
        empty = (await isIdle(pipeline)) && !(await hasDue(pipeline.profiles)) ? empty + 1 : 0
    }
    if (stop.signal.aborted) throw stop.signal.reason
    return 0
  } finally {
    await closing.close()
  }
}

const hasDue = async (profiles: { dueNow(afterId: string, limit: number): Promise<{ ids: readonly string[] }> }) =>
  (await profiles.dueNow('0', 1)).ids.length > 0

/** Ticks until SIGTERM. Any number may run: each slot is taken once. */
export async function runSchedule({ config, log, signal }: Omit<WorkerOptions, 'drain'>): Promise<number> {
  const closing = openClosing()
  const stop = new AbortController()
  try {
    const addresses = addressesOf(config)
    const pipeline = closing.add(
      await openPipeline({ config, addresses, log, onSkewed: (error) => stop.abort(error) }),
      'pipeline',
    )
    const scheduler = closing.add(await startTicks(pipeline, config, log), 'schedule')
    for (const { name, at } of scheduler.next())
      log.info({ schedule: name, next: at?.toISOString() }, 'schedule is ready')
    await aborted(AbortSignal.any([signal, stop.signal]))
    if (stop.signal.aborted) throw stop.signal.reason
    return 0
  } finally {
    await closing.close()
  }
}
