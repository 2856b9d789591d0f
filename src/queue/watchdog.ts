import { Problem } from '../errors.ts'
import { type Lane, lanes } from '../fleet/budget.ts'
import { SECOND } from '../time/units.ts'

type WatchdogOptions = {
  readonly waitingJobs: (lane: Lane) => Promise<number>
  /** For how long the lane is paused still. A paused lane is not silent. */
  readonly pausedMs: (lane: Lane) => Promise<number>
  readonly workers: { begun(): number; active(): number }
  readonly silenceMaxMs: number
  readonly now: () => number
  readonly onSilent: (problem: Problem) => void
}

/**
 * Checks every ten seconds whether jobs wait and none begins. After an outage of the queue's engine, workers have been
 * seen to begin no job ever again though jobs waited: then the process must be started anew.
 */
export function startWatchdog(options: WatchdogOptions): { check(): Promise<void>; close(): void } {
  let silentSinceMs = options.now()
  let begun = options.workers.begun()
  const check = async () => {
    const nowMs = options.now()
    const isBusy = options.workers.active() > 0 || options.workers.begun() !== begun
    begun = options.workers.begun()
    if (isBusy || !(await isWorkWaiting(options))) silentSinceMs = nowMs
    if (nowMs - silentSinceMs < options.silenceMaxMs) return
    silentSinceMs = nowMs
    options.onSilent(
      new Problem(`watch the queue: work has been waiting for ${options.silenceMaxMs / SECOND} s and none was begun`, {
        hint: 'The process ends so that its supervisor starts a new one; nothing is lost.',
      }),
    )
  }
  // An engine that does not answer is an outage, not silence: the count begins anew when the engine answers again.
  const timer = setInterval(
    () =>
      void check().catch(() => {
        silentSinceMs = options.now()
      }),
    10 * SECOND,
  )
  timer.unref()
  return { check, close: () => clearInterval(timer) }
}

async function isWorkWaiting({ waitingJobs, pausedMs }: WatchdogOptions): Promise<boolean> {
  const isWaitingByLane = await Promise.all(
    lanes.map(async (lane) => (await waitingJobs(lane)) > 0 && (await pausedMs(lane)) <= 0),
  )
  return isWaitingByLane.includes(true)
}
