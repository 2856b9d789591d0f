import { type Job as BullJob, UnrecoverableError, Worker } from 'bullmq'
import { type Lane, lanes } from '../budget.ts'
import { Halted, NotThere, Problem, Rejected, RetryLater } from '../errors.ts'
import { type Counts, type Job, type JobContext, nothing } from '../job.ts'
import type { Log } from '../log.ts'
import { MINUTE, SECOND } from '../window.ts'
import type { LaneWorker, QueueEngine, Ticket } from './engine.ts'

/** How one attempt at a job ended. */
export type Ended = {
  readonly job: string
  readonly lane: Lane
  readonly runId: string | undefined
  readonly profileId: string | undefined
  readonly outcome: 'done' | 'failed' | 'again' | 'halted'
  readonly counts: Counts
  readonly error: unknown
  readonly ms: number
}

export type WorkersOptions = {
  readonly engine: QueueEngine
  readonly jobs: readonly Job[]
  /** How many jobs of each lane this process works on at once. */
  readonly concurrency: Readonly<Record<Lane, number>>
  /** What a job is given, besides what its ticket says. */
  readonly context: Omit<JobContext, 'signal' | 'lane' | 'runId' | 'lastAttempt'>
  /** Told of every attempt, after it ended. A job whose success cannot be noted is not done. */
  onEnded(ended: Ended): Promise<void>
  readonly log: Log
}

export type Workers = {
  /** Takes no new job, lets those under way finish for at most `graceMs`, then aborts them and leaves. */
  close(graceMs: number): Promise<void>
  /** How many attempts were begun since the start: by this the watchdog sees life. */
  begun(): number
  active(): number
}

/** How long a lane rests when the account's credentials are refused: long enough to be no storm, short enough to be mended. */
const HALTED_WAIT_MS = MINUTE

export function startWorkers(options: WorkersOptions): Workers {
  const state = { begun: 0, active: 0 }
  const workers = lanes.map((lane) => startLane(lane, options, state))
  return {
    begun: () => state.begun,
    active: () => state.active,
    async close(graceMs) {
      const closing = Promise.all(workers.map((worker) => worker.close()))
      const grace = setTimeout(() => {
        for (const worker of workers) worker.cancelAllJobs('shutting down')
      }, graceMs)
      await closing
      clearTimeout(grace)
    },
  }
}

function startLane(lane: Lane, options: WorkersOptions, state: { begun: number; active: number }): LaneWorker {
  const { engine, log } = options
  const work = async (bull: BullJob<Ticket>, _token?: string, signal?: AbortSignal) => {
    state.begun += 1
    state.active += 1
    try {
      return await attempt({ bull, lane, signal }, options)
    } finally {
      state.active -= 1
    }
  }
  const worker = engine.worker(lane, work, {
    concurrency: options.concurrency[lane],
    lockDuration: 30 * SECOND,
    stalledInterval: 15 * SECOND,
    // A worker's death says nothing about the job it held: only its own failures use up attempts.
    maxStalledCount: 1000,
    drainDelay: 5,
  })
  worker.on('error', (error) => log.debug({ lane, err: error.message }, 'queue trouble'))
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'another worker may have this job by now')
  })
  return worker
}

type Attempt = { bull: BullJob<Ticket>; lane: Lane; signal: AbortSignal | undefined }

async function attempt({ bull, lane, signal }: Attempt, options: WorkersOptions): Promise<Counts> {
  const job = options.jobs.find(({ name }) => name === bull.name)
  if (!job) throw new UnrecoverableError(`work on ${bull.name}: this version knows no such job`)
  const timeout = AbortSignal.timeout(job.timeoutMs)
  const lastAttempt = bull.attemptsMade + 1 >= (bull.opts.attempts ?? 1)
  const startedAt = performance.now()
  const base = { job: job.name, lane, runId: bull.data.runId, profileId: profileIdOf(bull.data.payload) }
  const ended = (outcome: Ended['outcome'], counts: Counts, error?: unknown) =>
    options.onEnded({ ...base, outcome, counts, error, ms: Math.round(performance.now() - startedAt) })
  try {
    const counts = await job.run(job.payload.parse(bull.data.payload), {
      ...options.context,
      lane,
      runId: bull.data.runId,
      lastAttempt,
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    await ended('done', counts)
    return counts
  } catch (error) {
    const outcome = outcomeOf(error, lastAttempt)
    await ended(outcome, nothing, error)
    return translate(error, { options, lane, outcome })
  }
}

function outcomeOf(error: unknown, lastAttempt: boolean): Ended['outcome'] {
  if (error instanceof RetryLater) return 'again'
  if (error instanceof Halted) return 'halted'
  return lastAttempt || error instanceof Rejected || error instanceof NotThere ? 'failed' : 'again'
}

/** The one place where our intents become BullMQ's. Waiting uses up no attempt; what is permanent is not tried again. */
async function translate(
  error: unknown,
  { options, lane, outcome }: { options: WorkersOptions; lane: Lane; outcome: Ended['outcome'] },
): Promise<never> {
  if (error instanceof RetryLater || error instanceof Halted) {
    const waitMs = error instanceof RetryLater ? error.waitMs : HALTED_WAIT_MS
    await options.engine.queue(lane).rateLimit(Math.max(1, Math.ceil(waitMs)))
    throw Worker.RateLimitError()
  }
  const message = error instanceof Problem ? error.message : 'unexpected error, see the log of the worker'
  if (outcome === 'failed') throw new UnrecoverableError(message)
  throw new Error(message) // the queue keeps this text: only messages of our own go there
}

function profileIdOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !('profileId' in payload)) return undefined
  return typeof payload.profileId === 'string' ? payload.profileId : undefined
}
