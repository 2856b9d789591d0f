import { isOutage } from '../../base/postgres/postgres-errors.ts'
import { sleep } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'

/** The backoff type of every job: exponential with jitter, and never before the time that upstream named. */
export const RETRY_BACKOFF = 'vitalsync'

const FIRST_DELAY_MS = 5 * SECOND

/** A failed attempt that uses up one of the job's attempts. The next one starts after `delayMinMs` at the earliest. */
export class AttemptFailed extends Error {
  readonly delayMinMs: number

  constructor(message: string, delayMinMs: number) {
    super(message)
    this.delayMinMs = delayMinMs
  }
}

export function retryDelayMs(attemptsMade: number, error: unknown, random: () => number): number {
  const longestMs = FIRST_DELAY_MS * 2 ** (attemptsMade - 1)
  const delayMinMs = error instanceof AttemptFailed ? error.delayMinMs : 0
  return Math.max(delayMinMs, Math.floor(longestMs * (0.5 + 0.5 * random())))
}

const QUEUE_RETRY_MS = 250

/**
 * Repeats a change of the queue while the queue's engine is out, as long as the job's lease lasts. Without it the job would
 * count as active until the lease ends, though the engine came back after a second.
 */
export async function whileLeased(leaseMs: number, change: () => Promise<unknown>): Promise<void> {
  for (const leasedUntilMs = performance.now() + leaseMs; ; ) {
    try {
      await change()
      return
    } catch (error) {
      if (!isOutage(error) || performance.now() > leasedUntilMs) throw error
      await sleep(QUEUE_RETRY_MS)
    }
  }
}
