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
