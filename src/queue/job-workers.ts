import { setTimeout as wait } from 'node:timers/promises'
import { type Job as BullJob, DelayedError, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import { z } from 'zod'
import { Rejected } from '../errors.ts'
import { type Lane, lanes } from '../fleet/budget.ts'
import type { Log } from '../log.ts'
import { MINUTE, SECOND } from '../time/units.ts'
import { type JobCounts, noCounts } from '../transfer/order.ts'
import { isOutage } from '../warehouse/postgres/sql-errors.ts'
import type { Job, JobContext, SharedJobContext } from '../work/job.ts'
import {
  createWaits,
  type FailureOutcome,
  failureOutcomeOf,
  type JobAttempt,
  type LanePause,
  type Waits,
} from '../work/outcome.ts'
import type { JobData, LaneWorker, QueueEngine } from './engine.ts'
import { clearEndedPause, pauseLane } from './lane-pauses.ts'
import { AttemptFailed, retryDelayMs } from './retry-delay.ts'

type WorkersOptions = {
  readonly engine: QueueEngine
  readonly jobs: readonly Job[]
  /** How many jobs of each lane this process works on at once. */
  readonly concurrency: Readonly<Record<Lane, number>>
  readonly context: SharedJobContext
  /** Called after every attempt. If it fails after a success, the attempt counts as failed: an unrecorded success is none. */
  onAttempt(attempt: JobAttempt): Promise<void>
  /** Called once for each pause of a lane that a job of this process asks for, however many jobs ask. */
  onPause(pause: LanePause): void
  /** The lease of a job: after so long without renewal another worker may take the job over. */
  readonly leaseMs: number
  readonly log: Log
}

type Workers = {
  /** Takes no new job, lets running jobs finish for at most `graceMs`, then aborts them. */
  close(graceMs: number): Promise<void>
  /** How many attempts ended since the start: the watchdog reads it as progress. An attempt that only began may hang. */
  ended(): number
  active(): number
}

/** How long an aborted job may take to end. A job that ignores its signal is left behind. */
const ABORT_TIMEOUT_MS = 5 * SECOND

type WorkersState = {
  readonly options: WorkersOptions
  readonly waits: Waits
  /** Until when, by the process's own clock, this process has told that the lane pauses. */
  readonly pausedUntilMs: Map<Lane, number>
  /** Lanes in whose queue the limit of a pause may stand: at the start all, for a worker that died leaves its own. */
  readonly limitedLanes: Set<Lane>
  ended: number
  active: number
  closing: boolean
}

export function startWorkers(options: WorkersOptions): Workers {
  const state: WorkersState = {
    options,
    waits: createWaits(),
    pausedUntilMs: new Map(),
    limitedLanes: new Set(lanes),
    ended: 0,
    active: 0,
    closing: false,
  }
  const workers = lanes.map((lane) => startLaneWorker(lane, state))
  return {
    ended: () => state.ended,
    active: () => state.active,
    async close(graceMs) {
      const closing = Promise.all(workers.map((worker) => worker.close()))
      if (await endsWithin(closing, graceMs)) return
      state.closing = true
      for (const worker of workers) worker.cancelAllJobs('shutting down')
      if (await endsWithin(closing, ABORT_TIMEOUT_MS)) return
      // A job that ignores the abort is left to the end of its lease, and so is a queue that does not answer.
      await endsWithin(Promise.all(workers.map((worker) => worker.close(true))), ABORT_TIMEOUT_MS)
    },
  }
}

/** Whether the work ended, well or not, before the time was up. */
async function endsWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const timeUp = new AbortController()
  const ended = work.then(
    () => true,
    () => true,
  )
  const late = wait(timeoutMs, false, { signal: timeUp.signal }).catch(() => false)
  const isEnded = await Promise.race([ended, late])
  timeUp.abort()
  return isEnded
}

function startLaneWorker(lane: Lane, state: WorkersState): LaneWorker {
  const { engine, log, concurrency, leaseMs } = state.options
  const work = async (bull: BullJob<JobData>, token?: string, signal?: AbortSignal) => {
    state.active += 1
    try {
      await clearLimit(lane, state)
      return await runAttempt({ bull, jobId: jobIdOf(bull), lane, token, signal }, state)
    } finally {
      state.active -= 1
      state.ended += 1
    }
  }
  const worker = engine.worker(lane, work, {
    concurrency: concurrency[lane],
    lockDuration: leaseMs,
    stalledInterval: leaseMs / 2,
    // A job whose worker died is started again without end: only the job's own failures use up attempts.
    maxStalledCount: 1000,
    drainDelay: 5,
    runRetryDelay: 2 * SECOND,
    settings: { backoffStrategy: (attemptsMade, _type, error) => retryDelayMs(attemptsMade, error, Math.random) },
    // A worker checks a paused lane this often, so a worker that closes waits no longer than this.
    maximumRateLimitDelay: SECOND,
  })
  worker.on('error', (error) => log.debug({ lane, err: error.message }, 'queue trouble'))
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) worker.cancelJob(id, 'another worker may have this job by now')
  })
  return worker
}

/** The first job that starts after a pause takes the pause's limit out of the queue. */
async function clearLimit(lane: Lane, { limitedLanes, options }: WorkersState): Promise<void> {
  if (!limitedLanes.delete(lane)) return
  const isClear = await clearEndedPause(options.engine.queue(lane)).catch((error: unknown) => {
    options.log.debug({ lane, err: String(error) }, 'queue trouble')
    return false
  })
  if (!isClear) limitedLanes.add(lane)
}

/** The queue gives every job an id; only the type of a job that was not added yet lacks it. */
function jobIdOf({ id, name }: BullJob<JobData>): string {
  if (id === undefined) throw new Error(`work on ${name}: the queue gave the job no id`)
  return id
}

type Attempt = {
  readonly bull: BullJob<JobData>
  readonly jobId: string
  readonly lane: Lane
  readonly token: string | undefined
  readonly signal: AbortSignal | undefined
}

async function runAttempt(attempt: Attempt, state: WorkersState): Promise<JobCounts> {
  const { bull, jobId, lane, signal } = attempt
  const { options, waits } = state
  const job = options.jobs.find(({ name }) => name === bull.name) ?? unknownJob(bull.name)
  const order = parseJobData(attempt, options.log)
  const isLast = bull.attemptsMade + 1 >= (bull.opts.attempts ?? 1)
  const startedAtMs = performance.now()
  const started = { ...order, job: job.name, lane, begunAtMs: options.context.now() }
  const ended = (result: Pick<JobAttempt, 'outcome' | 'counts' | 'error' | 'isPause'>) =>
    options.onAttempt({ ...started, ...result, durationMs: Math.round(performance.now() - startedAtMs) })
  try {
    const waitsExhausted = !waits.mayWait(jobId)
    const context: Omit<JobContext, 'signal'> = {
      ...options.context,
      lane,
      runId: order.runId,
      lastAttempt: isLast,
      waitsExhausted,
    }
    const payload = job.payload.parse({ ...order.params, profileId: order.profileId })
    const counts = await withTimeout(job, signal, (whole) => job.run(payload, { ...context, signal: whole }))
    await ended({ outcome: 'done', counts, error: undefined, isPause: false })
    waits.succeeded(jobId)
    return counts
  } catch (error) {
    const next = failureOutcomeOf(error, { isLast, isClosing: state.closing, mayWait: waits.mayWait(jobId) })
    if (next.action === 'pause-lane' && next.isWait) waits.waited(jobId)
    if (next.action === 'give-up') waits.gaveUp(jobId)
    // A failure that cannot be recorded now is left to the queue's next attempt.
    await ended({
      outcome: next.outcome,
      counts: noCounts,
      error,
      isPause: next.action === 'pause-lane' || next.action === 'delay',
    }).catch(() => undefined)
    if (next.action === 'pause-lane') reportPause({ lane, error, ...next }, state)
    return applyToQueue(next, attempt, state)
  }
}

const jobDataSchema = z.object({
  runId: z.string(),
  profileId: z.string(),
  params: z.record(z.string(), z.unknown()),
})

/**
 * A job that another version enqueued may hold data of another form. Nothing can be recorded about it, for its profile is
 * not known here: it leaves the queue at once. Its order stays open, so its run enqueues it again in today's form.
 */
function parseJobData({ bull, lane }: Attempt, log: Log): JobData {
  const parsed = jobDataSchema.safeParse(bull.data)
  if (parsed.success) return parsed.data
  const message = `work on ${bull.name}: another version ordered it, in a form that this one does not read`
  log.warn({ job: bull.name, lane }, `${message}; its run will order it again`)
  throw new UnrecoverableError(message)
}

/**
 * Runs a job with a signal that the queue can abort, and that aborts when the job takes too long. A job that goes on after
 * the abort is left behind, whatever it awaits: its writes are as harmless as those of a worker that lost its lease. The
 * timer ends with the job: `AbortSignal.timeout` would keep a timer for each job of the last ten minutes, hundreds of
 * thousands in a fast worker.
 */
async function withTimeout<T>(
  job: Job,
  cancelled: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const timer = setTimeout(() => {
    late.abort(new DOMException(`${job.name} took longer than ${job.timeoutMs} ms`, 'TimeoutError'))
  }, job.timeoutMs)
  const signal = cancelled ? AbortSignal.any([cancelled, late.signal]) : late.signal
  let leaving: NodeJS.Timeout | undefined
  const left = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      leaving = setTimeout(() => reject(signal.reason), ABORT_TIMEOUT_MS)
    })
  })
  try {
    return await Promise.race([run(signal), left])
  } finally {
    clearTimeout(timer)
    clearTimeout(leaving)
  }
}

/** A job whose name only another version knows fails for good, and its run counts it as failed. */
const unknownJob = (name: string): Job => ({
  name,
  payload: z.unknown(),
  attemptsMax: 1,
  timeoutMs: MINUTE,
  run: () => {
    const hint = 'Another version ordered it: let workers and schedulers be of one version.'
    throw new Rejected(`work on ${name}: this version knows no such job`, { status: 0, hint })
  },
})

/** The jobs that were under way when a pause begins all ask for it: only the first is told. */
function reportPause(pause: LanePause, { options, pausedUntilMs }: WorkersState): void {
  const nowMs = performance.now()
  const untilMs = pausedUntilMs.get(pause.lane) ?? 0
  pausedUntilMs.set(pause.lane, Math.max(untilMs, nowMs + pause.pauseMs))
  if (nowMs >= untilMs) options.onPause(pause)
}

/** The one place that translates an outcome into what BullMQ understands. */
async function applyToQueue(
  next: FailureOutcome,
  { bull, lane, token }: Attempt,
  { options: { engine, leaseMs }, limitedLanes }: WorkersState,
): Promise<never> {
  if (next.action === 'pause-lane') {
    limitedLanes.add(lane)
    await whileLeased(leaseMs, () => pauseLane(engine.queue(lane), next.pauseMs))
    throw Worker.RateLimitError()
  }
  if (next.action === 'delay') {
    await whileLeased(leaseMs, () => bull.moveToDelayed(Date.now() + next.delayMs, token))
    throw new DelayedError()
  }
  if (next.action === 'requeue') {
    await whileLeased(leaseMs, () => bull.moveToWait(token))
    throw new WaitingError()
  }
  if (next.action === 'give-up') throw new UnrecoverableError(next.message)
  throw new AttemptFailed(next.message, next.delayMinMs)
}

const QUEUE_RETRY_MS = 250

/** Repeats a change while the queue's engine is out: otherwise the job would count as active until its lease ends. */
async function whileLeased(leaseMs: number, change: () => Promise<unknown>): Promise<void> {
  for (const leasedUntilMs = performance.now() + leaseMs; ; ) {
    try {
      await change()
      return
    } catch (error) {
      if (!isOutage(error) || performance.now() > leasedUntilMs) throw error
      await wait(QUEUE_RETRY_MS)
    }
  }
}
