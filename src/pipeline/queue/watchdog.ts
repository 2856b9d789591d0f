import { Problem } from '../../base/errors.ts'
import { SECOND } from '../../base/time/units.ts'
import type { LanePart } from './engine.ts'

type WatchdogOptions = {
  readonly waitingJobs: (of: LanePart) => Promise<number>
  /** How much longer the queue is paused. A paused queue is not silent. */
  readonly pausedMs: (of: LanePart) => Promise<number>
  /** `served`: the queues on which they work. A job in any other queue waits for another process. */
  readonly workers: { ended(): number; active(): number; served(): readonly LanePart[] }
  /** How long no attempt may end while jobs wait and no job is active. */
  readonly silenceMaxMs: number
  /** The same while jobs are active: longer than any job may take. */
  readonly jobMaxMs: number
  readonly now: () => number
  readonly onSilent: (problem: Problem) => void
}

/**
 * Checks every ten seconds whether work makes progress: whether attempts end while jobs wait or are active. After an outage
 * of the queue's engine, workers have been seen to start no further job though jobs waited, and jobs to stay active
 * without end: then the process must be restarted.
 */
export function startWatchdog(options: WatchdogOptions): { check(): Promise<void>; close(): void } {
  const { workers, silenceMaxMs, jobMaxMs } = options
  let silentSinceMs = options.now()
  let ended = workers.ended()
  const checkProgress = async () => {
    const nowMs = options.now()
    const hasProgress = workers.ended() !== ended
    ended = workers.ended()
    const isActive = workers.active() > 0
    if (hasProgress || !(isActive || (await isWorkWaiting(options)))) silentSinceMs = nowMs
    const limitMs = isActive ? jobMaxMs : silenceMaxMs
    if (nowMs - silentSinceMs < limitMs) return
    silentSinceMs = nowMs
    const what = isActive ? 'jobs are active' : 'work has been waiting'
    options.onSilent(
      new Problem(`watch the queue: ${what} for ${limitMs / SECOND} s and no job ended`, {
        hint: 'The process ends so that its supervisor starts a new one; nothing is lost.',
      }),
    )
  }
  const check = () =>
    checkProgress().catch(() => {
      // An engine that does not answer is an outage, not silence: the silence begins when the engine answers again.
      silentSinceMs = options.now()
    })
  const timer = setInterval(() => void check(), 10 * SECOND)
  timer.unref()
  return { check, close: () => clearInterval(timer) }
}

async function isWorkWaiting({ waitingJobs, pausedMs, workers }: WatchdogOptions): Promise<boolean> {
  const isWaiting = await Promise.all(
    workers.served().map(async (of) => (await waitingJobs(of)) > 0 && (await pausedMs(of)) <= 0),
  )
  return isWaiting.includes(true)
}
