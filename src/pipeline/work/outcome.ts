import { metrics } from '@opentelemetry/api'
import { LRUCache } from 'lru-cache'
import { Halted, NotThere, Problem, Rejected, RetryLater } from '../../base/errors.ts'
import { isOutage } from '../../base/postgres/postgres-errors.ts'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { Lane } from '../fleet/budget.ts'
import type { EndedJob } from '../transfer/order.ts'
import { PartialOutage } from '../warehouse/postgres/sql-errors.ts'

/** How one attempt at a job ended. */
export type JobAttempt = EndedJob & {
  readonly lane: Lane
  readonly outcome: 'done' | FailureOutcome['outcome']
  readonly error: unknown
  /** The attempt paused its lane, or waits for a part of the warehouse. Neither is logged for each attempt. */
  readonly isPause: boolean
  readonly durationMs: number
}

/** Counts the attempts at jobs, for the meter provider of the process. The labels are names of jobs, lanes and outcomes. */
export function createJobMetrics(): (attempt: JobAttempt) => void {
  const meter = metrics.getMeter('vitalsync.jobs')
  const jobs = meter.createCounter('vitalsync.jobs')
  const durations = meter.createHistogram('vitalsync.job.duration', { unit: 's' })
  const refused = meter.createCounter('vitalsync.refused')
  const pushed = meter.createCounter('vitalsync.items.pushed')
  return ({ job, lane, outcome, durationMs, counts }) => {
    jobs.add(1, { job, lane, outcome })
    durations.record(durationMs / SECOND, { job })
    if (counts.refused > 0) refused.add(counts.refused, { job })
    if (counts.itemsPushed > 0) pushed.add(counts.itemsPushed)
  }
}

/** No worker starts a job of the lane before `pauseMs` have passed. */
export type LanePause = {
  readonly lane: Lane
  readonly outcome: 'again' | 'halted'
  readonly pauseMs: number
  readonly error: unknown
}

/** The step after a failed attempt. Only `retry` and `give-up` use up an attempt. */
export type FailureOutcome =
  /** The job goes back to the waiting ones at once. */
  | { readonly action: 'requeue'; readonly outcome: 'again' }
  /** The job goes back too, and its lane starts no job before `pauseMs` have passed. */
  | {
      readonly action: 'pause-lane'
      readonly outcome: 'again' | 'halted'
      readonly pauseMs: number
      /** Upstream asked this job to wait: the wait is counted. */
      readonly isWait: boolean
    }
  /** The job waits alone, and no attempt is used up: a server that it needs is away, and other jobs do not need it. */
  | { readonly action: 'delay'; readonly outcome: 'again'; readonly delayMs: number }
  /** The queue starts the job again after its backoff, at least `delayMinMs`. `message` may be kept by the queue. */
  | { readonly action: 'retry'; readonly outcome: 'again'; readonly message: string; readonly delayMinMs: number }
  | { readonly action: 'give-up'; readonly outcome: 'failed'; readonly message: string }

/** The pause of a lane after upstream refused the account's credentials: an operator has to correct them. */
const HALTED_PAUSE_MS = MINUTE
const OUTAGE_PAUSE_MS = 2 * SECOND
/** The time to the next try of a job whose person cannot be reached in the warehouse, while others can. */
const PARTIAL_DELAY_MS = 10 * SECOND

type FailedAttempt = {
  /** No further attempt follows. */
  readonly isLast: boolean
  /** The process aborts its jobs because it stops. */
  readonly isClosing: boolean
  /** Whether the job may wait once more without using up an attempt: see `createWaits`. */
  readonly mayWait: boolean
}

export function failureOutcomeOf(error: unknown, { isLast, isClosing, mayWait }: FailedAttempt): FailureOutcome {
  if (isClosing) return { action: 'requeue', outcome: 'again' }
  if (error instanceof Halted)
    return { action: 'pause-lane', outcome: 'halted', pauseMs: HALTED_PAUSE_MS, isWait: false }
  if (error instanceof PartialOutage) return { action: 'delay', outcome: 'again', delayMs: PARTIAL_DELAY_MS }
  if (isOutage(error)) return { action: 'pause-lane', outcome: 'again', pauseMs: OUTAGE_PAUSE_MS, isWait: false }
  if (error instanceof RetryLater && mayWait) {
    return { action: 'pause-lane', outcome: 'again', pauseMs: error.waitMs, isWait: true }
  }
  // The queue keeps the message: a foreign error's message may quote a record, so only a Problem's message goes there.
  const message = error instanceof Problem ? error.message : 'unexpected error, see the log of the worker'
  if (isLast || error instanceof Rejected || error instanceof NotThere) {
    return { action: 'give-up', outcome: 'failed', message }
  }
  // The attempts must outlast the wait that upstream asks for: spent before its end, they would fail the job for nothing.
  return { action: 'retry', outcome: 'again', message, delayMinMs: error instanceof RetryLater ? error.waitMs : 0 }
}

/** How often a job may wait without using up an attempt: while other jobs succeed, and while none does. */
const WAITS_WHILE_OTHERS_SUCCEED_MAX = 3
const WAITS_WHILE_NONE_SUCCEEDS_MAX = 20
/** A job whose waits are counted may end in another process, or be removed: its count would stay for ever. */
const COUNTED_JOBS_MAX = 10_000

/**
 * Counts the waits of each job. As long as no job of this process succeeds, upstream is the cause:
 * every job may wait on. A job that has to wait again and again while other jobs succeed is itself the cause.
 *
 * The counts are bounded: beyond COUNTED_JOBS_MAX jobs the count that changed least recently is dropped, and that job may
 * wait as often as a new one.
 */
export function createWaits() {
  const counts = new LRUCache<string, { times: number; succeededBefore: number }>({ max: COUNTED_JOBS_MAX })
  let succeeded = 0
  return {
    mayWait(jobId: string) {
      const count = counts.peek(jobId)
      if (count === undefined || count.times < WAITS_WHILE_OTHERS_SUCCEED_MAX) return true
      return count.succeededBefore === succeeded && count.times < WAITS_WHILE_NONE_SUCCEEDS_MAX
    },
    waited(jobId: string) {
      const { times, succeededBefore } = counts.peek(jobId) ?? { times: 0, succeededBefore: succeeded }
      counts.set(jobId, { times: times + 1, succeededBefore })
    },
    succeeded(jobId: string) {
      succeeded += 1
      counts.delete(jobId)
    },
    gaveUp(jobId: string) {
      counts.delete(jobId)
    },
  }
}

export type Waits = ReturnType<typeof createWaits>
