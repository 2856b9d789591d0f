import { type Job as BullJob, DelayedError, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import { z } from 'zod'
import { Rejected } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { Lane } from '../fleet/budget.ts'
import { JOB_FORM, type JobCounts, noCounts } from '../transfer/order.ts'
import type { Job, JobContext, SharedJobContext } from '../work/job.ts'
import {
  createWaits,
  type FailureOutcome,
  failureOutcomeOf,
  type JobAttempt,
  type LanePause,
  type Waits,
} from '../work/outcome.ts'
import type { JobData, QueueEngine } from './engine.ts'
import { withJobTimeout } from './job-timeout.ts'
import { clearEndedPause, pauseLane } from './lane-pauses.ts'
import { type ClaimedJob, startPartWorkers } from './part-workers.ts'
import { queuesInUse } from './queues-in-use.ts'
import { AttemptFailed, whileLeased } from './retries.ts'

type WorkersOptions = {
  readonly engine: QueueEngine
  /** The parts of the queue that this process works on, and former parts with them. */
  readonly parts: readonly number[]
  readonly jobs: readonly Job[]
  /** How many jobs of each lane this process works on at once. */
  readonly concurrency: Readonly<Record<Lane, number>>
  readonly context: SharedJobContext
  /** Called after every attempt. If it fails after a success, the attempt counts as failed: an unrecorded success is none. */
  onAttempt(attempt: JobAttempt): Promise<void>
  /** Called once for each pause of a lane that a job of this process asks for, however many jobs ask. */
  onPause(pause: LanePause): void
  /** The lease of a job: another worker may take the job over when it is not renewed in this time. */
  readonly leaseMs: number
  readonly log: Log
}

type WorkersState = {
  readonly options: WorkersOptions
  readonly waits: Waits
  /** The end of the pause that this process reported last for the lane, by the process's own clock. */
  readonly pausedUntilMs: Map<Lane, number>
  /** Queues without the rate limit of a pause: none at the start, because a worker that died leaves its limit behind. */
  readonly unlimitedQueues: Set<string>
  /** The forms of newer versions that were logged. */
  readonly newerForms: Set<number>
  ended: number
  active: number
  closing: boolean
}

export function startWorkers(options: WorkersOptions) {
  const state: WorkersState = {
    options,
    waits: createWaits(),
    pausedUntilMs: new Map(),
    unlimitedQueues: new Set(),
    newerForms: new Set(),
    ended: 0,
    active: 0,
    closing: false,
  }
  const work = async (claimed: ClaimedJob): Promise<JobCounts> => {
    state.active += 1
    try {
      await clearLimit(claimed, state)
      return await runAttempt({ ...claimed, jobId: jobIdOf(claimed.bull) }, state)
    } finally {
      state.active -= 1
      state.ended += 1
    }
  }
  const workers = startPartWorkers({ ...options, work })
  return {
    /** How many attempts ended since the start: the watchdog reads it as progress. An attempt that only began may hang. */
    ended: () => state.ended,
    active: () => state.active,
    served: workers.served,
    /** Takes no new job, lets running jobs finish for at most `graceMs`, then aborts them. */
    close: (graceMs: number) =>
      workers.close(graceMs, () => {
        state.closing = true
      }),
  }
}

/** The first job that starts after a pause takes the pause's limit out of its queue. */
async function clearLimit({ bull, of: { lane, part } }: ClaimedJob, state: WorkersState): Promise<void> {
  const { unlimitedQueues, options } = state
  const { queueName } = bull
  if (unlimitedQueues.has(queueName)) return
  unlimitedQueues.add(queueName)
  const isClear = await clearEndedPause(options.engine.queue(lane, part)).catch((error: unknown) => {
    options.log.debug({ lane, part, err: String(error) }, 'queue trouble')
    return false
  })
  if (!isClear) unlimitedQueues.delete(queueName)
}

/** The queue gives every job an id; only the type of a job that was not added yet lacks it. Each queue counts for itself. */
function jobIdOf({ id, name, queueName }: BullJob<JobData>): string {
  if (id === undefined) throw new Error(`work on ${name}: the queue gave the job no id`)
  return `${queueName}.${id}`
}

type Attempt = ClaimedJob & { readonly jobId: string }

async function runAttempt(attempt: Attempt, state: WorkersState): Promise<JobCounts> {
  const { bull, jobId, signal } = attempt
  const { lane } = attempt.of
  const { options, waits } = state
  const { form } = formSchema.parse(bull.data)
  if (form > JOB_FORM) return handBack(attempt, form, state)
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
    const counts = await withJobTimeout(job, signal, (whole) => job.run(payload, { ...context, signal: whole }))
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

/** Every version writes the form, whatever the rest of the data is. */
const formSchema = z.object({ form: z.number().default(1) })

/** Where a worker of the newer version is there too, it gets one job of two: it has nearly each after these. */
const HAND_BACKS_SOON = 6
const HAND_BACK_SOON_MS = SECOND
/** How often a job is handed back before it leaves the queue: it has waited for eleven minutes by then. */
const HAND_BACKS_MAX = HAND_BACKS_SOON + 16
const HAND_BACK_STEP_MS = 5 * SECOND

/**
 * A job of a newer version waits for a worker of that version, in the end longer each time, and uses up no attempt. Where none comes it
 * leaves the queue: its order stays open, and the newer version enqueues it again.
 */
async function handBack(
  { bull, of: { lane }, token }: Attempt,
  form: number,
  { options: { log, leaseMs }, newerForms }: WorkersState,
): Promise<never> {
  const message = `a newer version of vitalsync enqueued jobs of form ${form}, and this one reads form ${JOB_FORM}`
  if (!newerForms.has(form)) log.warn({ job: bull.name, lane }, `${message}: they are left to its workers`)
  newerForms.add(form)
  const handBacks = bull.attemptsStarted - bull.attemptsMade
  if (handBacks > HAND_BACKS_MAX) throw new UnrecoverableError(message)
  const delayMs = handBacks > HAND_BACKS_SOON ? (handBacks - HAND_BACKS_SOON) * HAND_BACK_STEP_MS : HAND_BACK_SOON_MS
  return delay({ bull, token }, delayMs, leaseMs)
}

async function delay(
  { bull, token }: Pick<Attempt, 'bull' | 'token'>,
  delayMs: number,
  leaseMs: number,
): Promise<never> {
  await whileLeased(leaseMs, () => bull.moveToDelayed(Date.now() + delayMs, token))
  throw new DelayedError()
}

const jobDataSchema = formSchema.extend({
  runId: z.string(),
  profileId: z.string(),
  params: z.record(z.string(), z.unknown()),
})

/**
 * Nothing can be recorded about a job whose data cannot be read, for its profile is not known here: it leaves the queue at once. Its order
 * stays open, so its run enqueues it again in today's form.
 */
function parseJobData({ bull, of: { lane } }: Attempt, log: Log): JobData {
  const parsed = jobDataSchema.safeParse(bull.data)
  if (parsed.success) return parsed.data
  const message = `work on ${bull.name}: its data cannot be read`
  log.warn({ job: bull.name, lane }, `${message}; its run will order it again`)
  throw new UnrecoverableError(message)
}

/** A job whose name only an older version knows fails for good, and its run counts it as failed. */
const unknownJob = (name: string): Job => ({
  name,
  payload: z.unknown(),
  attemptsMax: 1,
  timeoutMs: MINUTE,
  run: () => {
    const hint = 'An older version ordered it: this one does not have it any more.'
    throw new Rejected(`work on ${name}: this version knows no such job`, { status: 0, hint })
  },
})

/** All running jobs ask for a pause when it begins: only the first request is reported. */
function reportPause(pause: LanePause, { options, pausedUntilMs }: WorkersState): void {
  const nowMs = performance.now()
  const untilMs = pausedUntilMs.get(pause.lane) ?? 0
  pausedUntilMs.set(pause.lane, Math.max(untilMs, nowMs + pause.pauseMs))
  if (nowMs >= untilMs) options.onPause(pause)
}

/** The one place that translates an outcome into what BullMQ understands. */
async function applyToQueue(
  next: FailureOutcome,
  { bull, of: { lane }, token }: Attempt,
  { options: { engine, leaseMs }, unlimitedQueues }: WorkersState,
): Promise<never> {
  if (next.action === 'pause-lane') {
    unlimitedQueues.clear()
    await whileLeased(leaseMs, async () => pauseLane(await queuesInUse(engine, lane), next.pauseMs))
    throw Worker.RateLimitError()
  }
  if (next.action === 'delay') return delay({ bull, token }, next.delayMs, leaseMs)
  if (next.action === 'requeue') {
    await whileLeased(leaseMs, () => bull.moveToWait(token))
    throw new WaitingError()
  }
  if (next.action === 'give-up') throw new UnrecoverableError(next.message)
  throw new AttemptFailed(next.message, next.delayMinMs)
}
