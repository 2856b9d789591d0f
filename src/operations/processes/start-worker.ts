import type { Config } from '../../../config/env.ts'
import { pulledStreams } from '../../../config/streams.ts'
import { STOP_MAX_MS } from '../../base/close-stack.ts'
import { Problem } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { isOutage, sqlState } from '../../base/postgres/postgres-errors.ts'
import { HOUR, MINUTE, SECOND } from '../../base/time/units.ts'
import { createLaneTroubles } from '../../pipeline/fleet/lane-troubles.ts'
import { startWorkers } from '../../pipeline/queue/job-workers.ts'
import { pauseLeftMs } from '../../pipeline/queue/lane-pauses.ts'
import { backlogOf } from '../../pipeline/queue/queues-in-use.ts'
import { startWatchdog } from '../../pipeline/queue/watchdog.ts'
import { fillColumns } from '../../pipeline/warehouse/fill-columns.ts'
import { setLibraryClock } from '../../pipeline/warehouse/postgres/database-clock.ts'
import { describeOutage } from '../../pipeline/warehouse/postgres/sql-errors.ts'
import { readSharedFacts } from '../../pipeline/warehouse/reports/shared-facts.ts'
import { deleteOldRows, retentionsOf } from '../../pipeline/warehouse/retention.ts'
import { sealAnew } from '../../pipeline/warehouse/seals/seal-anew.ts'
import { judgeSilence } from '../../pipeline/warehouse/silence/judge-silence.ts'
import { createJobMetrics, type JobAttempt, type LanePause } from '../../pipeline/work/outcome.ts'
import { jobs, type Pipeline } from '../pipeline.ts'
import { repeatUntilClosed } from './repeat.ts'
import { startWorkerHeartbeat } from './worker-heartbeat.ts'

export type RunningWorker = ReturnType<typeof startWorker>

type StartWorkerOptions = {
  readonly pipeline: Pipeline
  readonly config: Config
  readonly log: Log
  /** The parts of the queue to work on; absent: all. */
  readonly parts?: readonly number[]
  /** The lease of a job: another worker may take the job over when it is not renewed in this time. */
  readonly leaseMs?: number
  onSilent(problem: Problem): void
}

const LEASE_MS = 30 * SECOND

/** The jobs' time to end, the time of jobs that ignore their abort, and one statement that is not answered. */
export const workerCloseMaxMs = ({ drainSeconds }: Config): number => drainSeconds * SECOND + STOP_MAX_MS

/** Works on jobs in this process until closed. */
export function startWorker(options: StartWorkerOptions) {
  const { pipeline, config, log, leaseMs = LEASE_MS, onSilent } = options
  let halted: Problem | undefined
  const restoreClock = setLibraryClock(pipeline.clock.now)
  const troubles = createLaneTroubles(Date.now)
  const countAttempt = createJobMetrics()
  const workers = startWorkers({
    engine: pipeline.engine,
    parts: options.parts ?? Array.from({ length: pipeline.engine.parts }, (_, part) => part),
    jobs,
    concurrency: { nightly: config.concurrency, manual: config.concurrency, backfill: config.concurrency },
    context: pipeline.context,
    async onAttempt(attempt) {
      countAttempt(attempt)
      if (attempt.outcome === 'halted' && attempt.error instanceof Problem) halted = attempt.error
      if (attempt.outcome === 'done') {
        halted = undefined
        troubles.succeeded(attempt.lane)
      } else if (attempt.outcome !== 'failed') {
        troubles.failed({ lane: attempt.lane, reason: toldReasonOf(attempt.error) })
      }
      await recordAttempt(pipeline, attempt)
      logAttempt(log, attempt)
    },
    onPause(pause) {
      troubles.paused({ ...pause, reason: toldReasonOf(pause.error) })
      logPause(log, pause)
    },
    leaseMs,
    log,
  })
  const watchdog = startWatchdog({
    waitingJobs: async ({ lane, part }) => (await backlogOf(pipeline.engine.queue(lane, part))).waiting,
    pausedMs: ({ lane, part }) => pauseLeftMs(pipeline.engine.queue(lane, part)),
    workers,
    silenceMaxMs: MINUTE,
    jobMaxMs: Math.max(...jobs.map(({ timeoutMs }) => timeoutMs)) + MINUTE,
    now: () => performance.now(),
    onSilent,
  })
  const heartbeat = startWorkerHeartbeat(pipeline, { troubles, log })
  const reporting = startReporting(pipeline, log)
  const upkeep = [
    startSealing(pipeline, log),
    startSettling(pipeline, log),
    startDeleting(pipeline, config, log),
    startJudgingSilence(pipeline, log),
    startFilling(pipeline, log),
  ]
  return {
    /** Why upstream refused the account's credentials, since the last job that succeeded. */
    halted: () => halted,
    /** Lets running jobs end for `drainMs`, by default as the settings say; ends within that and half a minute. */
    async close(drainMs = config.drainSeconds * SECOND) {
      watchdog.close()
      // No job begins from here on, however long the database takes to delete the row of this worker.
      await Promise.all([workers.close(drainMs), heartbeat.close(), ...upkeep.map((work) => work.close())])
      await reporting.close()
      restoreClock()
    },
  }
}

const SETTLE_EVERY_MS = 10 * SECOND

/** Keeps the settle times up to date. It needs all nodes of a divided warehouse: nothing else waits for it. */
const startSettling = ({ refreshSettleTimes }: Pipeline, log: Log) =>
  repeatUntilClosed(SETTLE_EVERY_MS, () =>
    refreshSettleTimes().catch((error: unknown) =>
      log.debug(loggableError(error), 'settle times could not be computed, and are soon tried again'),
    ),
  )

const JUDGE_EVERY_MS = HOUR

/** Judges once an hour in the whole fleet. A process that ends leaves the rest to the next. */
const startJudgingSilence = ({ pool }: Pipeline, log: Log) =>
  repeatUntilClosed(5 * MINUTE, (signal) =>
    readSharedFacts(pool, {
      name: 'silence',
      maxAgeMs: JUDGE_EVERY_MS,
      ask: () => judgeSilence(pool, signal).then(() => ({})),
    }).then(
      () => undefined,
      (error: unknown) => {
        if (!signal.aborted) log.warn(loggableError(error), 'silence could not be judged, and is soon tried again')
      },
    ),
  )

/** Fills the columns that were added, where the command that added them has ended. */
const startFilling = ({ pool }: Pipeline, log: Log) =>
  repeatUntilClosed(MINUTE, (signal) =>
    fillColumns(pool, pulledStreams, signal).catch((error: unknown) =>
      log.warn(loggableError(error), 'an added column could not be filled further, and is soon tried again'),
    ),
  )

const REPORT_EVERY_MS = 30 * SECOND

/** Reports what upstream says that is not known: each thing once in the whole fleet, and at the end what the last jobs have found. */
function startReporting({ refreshDrift }: Pipeline, log: Log) {
  const report = async () => {
    const fresh = await refreshDrift().catch((error: unknown) => {
      log.debug(loggableError(error), 'drift could not be looked at, and soon is again')
      return []
    })
    for (const drift of fresh) log.warn({ drift }, 'upstream says something that is not known: vitalsync drift')
  }
  const reporting = repeatUntilClosed(REPORT_EVERY_MS, report)
  return {
    async close() {
      await reporting.close()
      await report()
    },
  }
}

const DELETE_EVERY_MS = HOUR

/** Deletes the rows that the warehouse does not keep, at the start and every hour. Rows that cannot be deleted hold up no others. */
const startDeleting = ({ pool }: Pipeline, config: Config, log: Log) =>
  repeatUntilClosed(DELETE_EVERY_MS, async (signal) => {
    for (const retention of retentionsOf(config)) {
      const { subject: rows } = retention
      try {
        const deleted = await deleteOldRows(pool, retention, signal)
        if (deleted > 0) log.info({ rows, deleted }, 'deleted rows that are kept no longer')
      } catch (error) {
        log.warn({ rows, ...loggableError(error) }, 'old rows could not be deleted, and are tried again in an hour')
      }
      if (signal.aborted) return
    }
  })

/** The ledger records how a job ended: a success deletes the profile's failure of that job, a failure stores its reason. */
async function recordAttempt({ ledger }: Pipeline, attempt: JobAttempt): Promise<void> {
  if (attempt.outcome === 'done') await ledger.recordFinished(attempt)
  if (attempt.outcome === 'failed') await ledger.recordFailed(attempt, failureReasonOf(attempt.error))
}

function failureReasonOf(error: unknown): { reason: string; hint: string | undefined } {
  if (error instanceof Problem) return { reason: error.message, hint: error.hint }
  const name = error instanceof Error ? error.name : 'unknown'
  return { reason: `unexpected error (${name})`, hint: 'The worker’s log has the details at level error.' }
}

/** Why an attempt failed, for `status`. A message of a foreign error may quote a record, so it is left out. */
function toldReasonOf(error: unknown): string {
  if (error instanceof Problem) return error.message
  return isOutage(error) ? describeOutage(error) : failureReasonOf(error).reason
}

/** One line per attempt, at level error when an operator should read it. `logPause` reports pauses. */
function logAttempt(log: Log, attempt: JobAttempt): void {
  const { job, lane, profileId, runId, outcome, counts, durationMs, error, isPause } = attempt
  const line = { job, lane, profile: profileId, run: runId, ms: durationMs, ...counts }
  if (outcome === 'done') log.debug(line, 'done')
  else if (isPause) log.debug({ ...line, ...loggableError(error) }, 'waits')
  else if (outcome === 'again') log.info({ ...line, ...loggableError(error) }, 'will be tried again')
  else log.error({ ...line, ...loggableError(error) }, 'failed')
}

function logPause(log: Log, { lane, outcome, pauseMs, error }: LanePause): void {
  const line = { lane, pauseMs: Math.ceil(pauseMs), ...loggableError(error) }
  if (outcome === 'halted') log.error(line, 'the account is stopped')
  else log.info(line, 'the lane pauses')
}

/** A Problem's message carries no secret. Foreign errors are logged in our words or by name, with their code and stack: a message
 * may quote a record. */
function loggableError(error: unknown): { err: string; code?: string; at?: string[] } {
  if (error instanceof Problem) return { err: error.message }
  if (!(error instanceof Error)) return { err: 'something that is no error was thrown' }
  const code = sqlState(error)
  return {
    err: isOutage(error) ? describeOutage(error) : error.name,
    ...(code === '' ? {} : { code }),
    at: (error.stack ?? '')
      .split('\n')
      .filter((row) => /^\s+at /.test(row))
      .map((row) => row.trim()),
  }
}

const SEAL_EVERY_MS = 10 * MINUTE

/**
 * Seals again with the first key the secrets that another key sealed: once at the start, and repeatedly where there are two keys, for
 * other processes may still seal with the former one. Work continues meanwhile.
 */
function startSealing({ pool, tokenKeys }: Pick<Pipeline, 'pool' | 'tokenKeys'>, log: Log): { close(): Promise<void> } {
  let isDone = false
  return repeatUntilClosed(SEAL_EVERY_MS, async (signal) => {
    if (isDone) return
    isDone = tokenKeys.length < 2
    try {
      const tokens = await sealAnew(pool, tokenKeys, () => signal.aborted)
      if (tokens > 0) log.info({ tokens }, 'sealed tokens with the first key')
    } catch (error) {
      log.warn(loggableError(error), 'could not seal with the first key; `vitalsync doctor` says more')
    }
  })
}
