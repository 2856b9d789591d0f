import { type Lane, lanes } from '../budget.ts'
import { Problem } from '../errors.ts'
import { SECOND } from '../window.ts'

export type WatchdogOptions = {
  readonly waiting: (lane: Lane) => Promise<number>
  /** A lane that rests because upstream asked for it is not silent. */
  readonly restingMs: (lane: Lane) => Promise<number>
  readonly workers: { begun(): number; active(): number }
  readonly silenceMaxMs: number
  readonly now: () => number
  readonly onSilent: (problem: Problem) => void
}

/**
 * After an outage of the queue's engine, workers have been seen to stay silent for ever though work was waiting. When
 * work waits and nothing is begun for too long, the process is better started anew.
 */
export function startWatchdog(options: WatchdogOptions): { look(): Promise<void>; close(): void } {
  let quietSince = options.now()
  let begun = options.workers.begun()
  const look = async () => {
    const now = options.now()
    const busy = options.workers.active() > 0 || options.workers.begun() !== begun
    begun = options.workers.begun()
    if (busy || !(await workWaits(options))) quietSince = now
    if (now - quietSince < options.silenceMaxMs) return
    quietSince = now
    options.onSilent(
      new Problem(`watch the queue: work has been waiting for ${options.silenceMaxMs / SECOND} s and none was begun`, {
        hint: 'The process ends so that its supervisor starts a new one; nothing is lost.',
      }),
    )
  }
  // An engine that does not answer is an outage, not silence: the count begins anew when it is back.
  const timer = setInterval(
    () =>
      void look().catch(() => {
        quietSince = options.now()
      }),
    10 * SECOND,
  )
  timer.unref()
  return { look, close: () => clearInterval(timer) }
}

async function workWaits({ waiting, restingMs }: WatchdogOptions): Promise<boolean> {
  const each = await Promise.all(lanes.map(async (lane) => (await waiting(lane)) > 0 && (await restingMs(lane)) <= 0))
  return each.includes(true)
}
