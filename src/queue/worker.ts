import { type Job as BullJob, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import { z } from 'zod'
import { type Lane, lanes } from '../budget.ts'
import { Halted, NotThere, Problem, Rejected, RetryLater } from '../errors.ts'
import { type Counts, type Job, type JobContext, nothing, scopeOf } from '../job.ts'
import type { Log } from '../log.ts'
import { isOutage } from '../warehouse/pool.ts'
import { MINUTE, SECOND } from '../window.ts'
import type { LaneWorker, QueueEngine, Ticket } from './engine.ts'

/** How one attempt at a job ended. */
export type Ended = {
  readonly job: string
  readonly lane: Lane
  readonly runId: string | undefined
  readonly profileId: string | undefined
  /** What it was to do, besides for whom. */
  readonly scope: string
  /** When the attempt began, by the database's clock. */
  readonly begunAtMs: number
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
  readonly context: Omit<JobContext, 'signal' | 'lane' | 'runId' | 'lastAttempt' | 'waitsOver'>
  /** Told of every attempt, after it ended. A job whose success cannot be noted is not done. */
  onEnded(ended: Ended): Promise<void>
  /** For how long a job that its worker no longer speaks for counts as being worked on. */
  readonly leaseMs?: number
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
const OUTAGE_WAIT_MS = 2 * SECOND
/** How often a job may be told to wait before that counts as its own trouble: while others get on, and in any case. */
const WAITS_MAX = 3
const WAITS_ALONE_MAX = 20
/** After the grace, how long a job may take to notice that it was aborted. */
const ABORT_MS = 5 * SECOND

type Shared = {
  readonly options: WorkersOptions
  begun: number
  active: number
  done: number
  closing: boolean
  /** Jobs that were told to wait: how often, and how many others were done when it began. */
  readonly waits: Map<string, { times: number; done: number }>
}

export function startWorkers(options: WorkersOptions): Workers {
  const shared: Shared = { options, begun: 0, active: 0, done: 0, closing: false, waits: new Map() }
  const workers = lanes.map((lane) => startLane(lane, shared))
  return {
    begun: () => shared.begun,
    active: () => shared.active,
    async close(graceMs) {
      const closing = Promise.all(workers.map((worker) => worker.close()))
      let leave: NodeJS.Timeout | undefined
      const grace = setTimeout(() => {
        shared.closing = true
        for (const worker of workers) worker.cancelAllJobs('shutting down')
        // What hangs even now is left to its lease.
        leave = setTimeout(() => void Promise.all(workers.map((worker) => worker.close(true))), ABORT_MS)
      }, graceMs)
      await closing
      clearTimeout(grace)
      clearTimeout(leave)
    },
  }
}

function startLane(lane: Lane, shared: Shared): LaneWorker {
  const { engine, log, concurrency, leaseMs = 30 * SECOND } = shared.options
  const work = async (bull: BullJob<Ticket>, token?: string, signal?: AbortSignal) => {
    shared.begun += 1
    shared.active += 1
    try {
      return await attempt({ bull, lane, token, signal }, shared)
    } finally {
      shared.active -= 1
    }
  }
  const worker = engine.worker(lane, work, {
    concurrency: concurrency[lane],
    lockDuration: leaseMs,
    stalledInterval: leaseMs / 2,
    // A worker's death says nothing about the job it held: only its own failures use up attempts.
    maxStalledCount: 1000,
    drainDelay: 5,
    runRetryDelay: 2 * SECOND,
    // A lane that rests is looked at this often, and a worker that leaves waits no longer for it.
    maximumRateLimitDelay: SECOND,
  })
  worker.on('error', (error) => log.debug({ lane, err: error.message }, 'queue trouble'))
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'another worker may have this job by now')
  })
  return worker
}

type Attempt = { bull: BullJob<Ticket>; lane: Lane; token: string | undefined; signal: AbortSignal | undefined }

async function attempt(one: Attempt, shared: Shared): Promise<Counts> {
  const { bull, lane, signal } = one
  const { options, waits } = shared
  const job = options.jobs.find(({ name }) => name === bull.name) ?? unknown(bull.name)
  const lastAttempt = bull.attemptsMade + 1 >= (bull.opts.attempts ?? 1)
  const startedAt = performance.now()
  const { payload, runId } = bull.data
  const begunAtMs = options.context.now()
  const base = { job: job.name, lane, runId, profileId: profileIdOf(payload), scope: scopeOf(payload), begunAtMs }
  const ended = (outcome: Ended['outcome'], counts: Counts, error?: unknown) =>
    options.onEnded({ ...base, outcome, counts, error, ms: Math.round(performance.now() - startedAt) })
  try {
    const context = { ...options.context, lane, runId, lastAttempt, waitsOver: !isToWait(bull, shared) }
    const counts = await inTime(job, signal, (whole) =>
      job.run(job.payload.parse(payload), { ...context, signal: whole }),
    )
    await ended('done', counts)
    shared.done += 1
    waits.delete(bull.id ?? '')
    return counts
  } catch (error) {
    const next = nextOf(error, one, { shared, lastAttempt })
    // What cannot be noted down now is left to the queue's next attempt.
    await ended(next.outcome, nothing, error).catch(() => undefined)
    return carryOut(next, one, shared)
  }
}

/**
 * Gives the job a signal that the queue can abort, and that aborts by itself when the job takes too long. The timer goes
 * with the job: `AbortSignal.timeout` would keep one for each job of the last ten minutes, which a quick worker counts in
 * the hundred thousands.
 */
async function inTime<T>(
  job: Job,
  taken: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => {
    late.abort(new DOMException(`${job.name} took longer than ${job.timeoutMs} ms`, 'TimeoutError'))
  }, job.timeoutMs)
  try {
    return await run(taken ? AbortSignal.any([taken, late.signal]) : late.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** A job of another version fails for good, and is counted as failed by the run that waits for it. */
const unknown = (name: string): Job => ({
  name,
  payload: z.unknown(),
  attemptsMax: 1,
  timeoutMs: MINUTE,
  run: () => {
    const hint = 'Another version ordered it: let workers and schedulers be of one version.'
    throw new Rejected(`work on ${name}: this version knows no such job`, { status: 0, hint })
  },
})

/** What follows a failure: the job waits, by itself or with its whole lane, and uses up no attempt; or it is an attempt less. */
type Next =
  | { readonly outcome: 'again' | 'halted'; readonly laneRestsMs: number }
  | { readonly outcome: 'again'; readonly backInLine: true }
  | { readonly outcome: 'again' | 'failed'; readonly message: string }

function nextOf(error: unknown, one: Attempt, { shared, lastAttempt }: { shared: Shared; lastAttempt: boolean }): Next {
  if (shared.closing) return { outcome: 'again', backInLine: true }
  if (error instanceof Halted) return { outcome: 'halted', laneRestsMs: HALTED_WAIT_MS }
  if (isOutage(error)) return { outcome: 'again', laneRestsMs: OUTAGE_WAIT_MS }
  if (error instanceof RetryLater && isToWait(one.bull, shared)) {
    const known = shared.waits.get(one.bull.id ?? '') ?? { times: 0, done: shared.done }
    shared.waits.set(one.bull.id ?? '', { ...known, times: known.times + 1 })
    return { outcome: 'again', laneRestsMs: error.waitMs }
  }
  const failed = lastAttempt || error instanceof Rejected || error instanceof NotThere
  if (failed) shared.waits.delete(one.bull.id ?? '')
  // The queue keeps this text: only messages of our own go there.
  const message = error instanceof Problem ? error.message : 'unexpected error, see the log of the worker'
  return { outcome: failed ? 'failed' : 'again', message }
}

/**
 * Being told to wait is everybody's trouble as long as nobody gets on. A job that is told so time and again while others
 * are done has trouble of its own.
 */
function isToWait(bull: BullJob<Ticket>, { waits, done }: Shared): boolean {
  const known = waits.get(bull.id ?? '')
  if (known === undefined || known.times < WAITS_MAX) return true
  return known.done === done && known.times < WAITS_ALONE_MAX
}

/** The one place where our intents become BullMQ's. */
async function carryOut(next: Next, { bull, lane, token }: Attempt, { options }: Shared): Promise<never> {
  if ('laneRestsMs' in next) {
    await options.engine.queue(lane).rateLimit(Math.max(1, Math.ceil(next.laneRestsMs)))
    throw Worker.RateLimitError()
  }
  if ('backInLine' in next) {
    await bull.moveToWait(token)
    throw new WaitingError()
  }
  if (next.outcome === 'failed') throw new UnrecoverableError(next.message)
  throw new Error(next.message)
}

function profileIdOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !('profileId' in payload)) return undefined
  return typeof payload.profileId === 'string' ? payload.profileId : undefined
}
