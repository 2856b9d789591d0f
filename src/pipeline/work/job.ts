import type { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Lane } from '../fleet/budget.ts'
import type { JobCounts } from '../transfer/order.ts'
import type { Upstream } from '../upstream/client.ts'
import type { Ledger } from '../warehouse/ledger/coverage-ledger.ts'
import type { Outbox } from '../warehouse/outbox/outbox.ts'
import type { Profiles } from '../warehouse/profiles/stored-profiles.ts'
import type { ReadingWriter } from '../warehouse/readings/reading-writer.ts'
import type { Verification } from './verify-window.ts'

/** Everything a job may use. A job uses no clock, socket, timer or randomness but those of its context. */
export type JobContext = {
  readonly upstream: Omit<Upstream, 'api' | 'close'>
  readonly ledger: Pick<Ledger, 'plan' | 'recordRefusal'>
  readonly outbox: Outbox
  readonly profiles: Pick<
    Profiles,
    'add' | 'beginRegistration' | 'endRegistration' | 'registrationLeftMs' | 'setState' | 'erase'
  >
  readonly writer: Pick<ReadingWriter, 'store'>
  readonly verification: Verification
  /** Removes the profile's waiting jobs from the queue; a job that is under way stays. */
  forgetJobs(profileId: string): Promise<number>
  /** Milliseconds since 1970 by the database's clock, which orders readings. */
  now(): number
  /** Waits; rejects when the attempt is aborted. */
  pause(ms: number, signal: AbortSignal): Promise<void>
  readonly signal: AbortSignal
  readonly lane: Lane
  /** The run whose order the job carries out; absent in a job that a command runs on its own. */
  readonly runId?: string | undefined
  /** No further attempt follows: a failure that concerns one window is recorded with its reason instead of thrown. */
  readonly lastAttempt: boolean
  /** True when the job has used up its free retries; the next RetryLater counts as a failed attempt. */
  readonly waitsExhausted?: boolean
  readonly settings: JobSettings
  readonly log: Log
}

/** The part of the context that is the same for every attempt; the worker adds the rest. */
export type SharedJobContext = Omit<JobContext, 'signal' | 'lane' | 'runId' | 'lastAttempt' | 'waitsExhausted'>

type JobSettings = {
  /** How far back the history of a newly found profile is wanted. */
  readonly historyMs: number
  /** How many windows one job reads at once. */
  readonly windowsAtOnce: number
  /** How long a job waits before it reads a window a second time, when the first reading alone is not believed. */
  readonly secondReadingMs: number
}

export type Job<P extends z.ZodType = z.ZodType> = {
  readonly name: string
  readonly payload: P
  /** After this many failures the job is left to the sweep. Waiting for a token or the budget uses up no attempt. */
  readonly attemptsMax: number
  readonly timeoutMs: number
  run(payload: z.output<P>, context: JobContext): Promise<JobCounts>
}

export const defineJob = <P extends z.ZodType>(job: Job<P>): Job<P> => Object.freeze(job)
