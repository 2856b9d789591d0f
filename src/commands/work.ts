import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config/env.ts'
import { schedulesOf } from '../../config/schedules.ts'
import { backfill } from '../../jobs/backfill.ts'
import { nightly } from '../../jobs/nightly.ts'
import { sweep } from '../../jobs/sweep.ts'
import { sync } from '../../jobs/sync.ts'
import { Problem } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Producer, produce } from '../producer.ts'
import { startWatchdog } from '../queue/watchdog.ts'
import { type Ended, startWorkers } from '../queue/worker.ts'
import { type Scheduler, startScheduler } from '../schedule/scheduler.ts'
import type { Run } from '../warehouse/runs.ts'
import { MINUTE, SECOND } from '../window.ts'
import { jobs, type Pipeline } from './pipeline.ts'

const producers: readonly Producer[] = [nightly, sweep, sync, backfill]

export type Working = {
  /** The last reason for which the account was stopped, if it was. */
  halted(): Problem | undefined
  close(): Promise<void>
}

export type WorkOptions = {
  readonly pipeline: Pipeline
  readonly config: Config
  readonly log: Log
  /** For how long a job whose worker went silent counts as being worked on. */
  readonly leaseMs?: number
  onSilent(problem: Problem): void
}

/** Works on jobs in this process until closed. */
export function startWork({ pipeline, config, log, leaseMs, onSilent }: WorkOptions): Working {
  let halted: Problem | undefined
  const onEnded = async (ended: Ended) => {
    if (ended.outcome === 'halted' && ended.error instanceof Problem) halted = ended.error
    if (ended.outcome === 'done') halted = undefined
    await note(pipeline, ended)
    report(log, ended)
  }
  const workers = startWorkers({
    engine: pipeline.engine,
    jobs,
    concurrency: { nightly: config.concurrency, manual: config.concurrency, backfill: config.concurrency },
    context: pipeline.context,
    onEnded,
    ...(leaseMs === undefined ? {} : { leaseMs }),
    log,
  })
  const watchdog = startWatchdog({
    waiting: async (lane) => (await pipeline.queue.backlog(lane)).waiting,
    restingMs: (lane) => pipeline.engine.queue(lane).getRateLimitTtl(),
    workers,
    silenceMaxMs: MINUTE,
    now: () => performance.now(),
    onSilent,
  })
  return {
    halted: () => halted,
    async close() {
      watchdog.close()
      await workers.close(config.drainSeconds * SECOND)
    },
  }
}

/** What the ledger keeps of an attempt: a success forgets the failure before it, a failure says why. */
async function note({ ledger }: Pipeline, { profileId, outcome, error, ...ended }: Ended): Promise<void> {
  if (profileId === undefined) return
  if (outcome === 'done') await ledger.finish({ profileId, ...ended })
  if (outcome === 'failed') await ledger.fail({ profileId, ...ended }, reasonOf(error))
}

function reasonOf(error: unknown): { reason: string; hint: string | undefined } {
  if (error instanceof Problem) return { reason: error.message, hint: error.hint }
  const name = error instanceof Error ? error.name : 'unknown'
  return { reason: `unexpected error (${name})`, hint: 'The worker’s log has the details at level error.' }
}

/** One line per attempt: quiet when all is well, loud when a person should look. */
function report(log: Log, { job, lane, profileId, runId, outcome, counts, ms, error }: Ended): void {
  const line = { job, lane, profile: profileId, run: runId, ms, ...counts }
  if (outcome === 'done') log.debug(line, 'done')
  else if (outcome === 'again') log.info({ ...line, ...told(error) }, 'will be tried again')
  else log.error({ ...line, ...told(error) }, outcome === 'halted' ? 'the account is stopped' : 'failed')
}

/** Our own messages are fit to be read. Of foreign errors only the kind and the place: their words may quote a record. */
function told(error: unknown): { err: string; at?: string[] } {
  if (error instanceof Problem) return { err: error.message }
  if (!(error instanceof Error)) return { err: 'something that is no error was thrown' }
  return {
    err: error.name,
    at: (error.stack ?? '')
      .split('\n')
      .filter((row) => /^\s+at /.test(row))
      .map((row) => row.trim()),
  }
}

type Producing = {
  readonly pipeline: Pick<Pipeline, 'profiles' | 'runs' | 'queue'>
  readonly config: Config
  readonly signal: AbortSignal
}

/** Enqueues everybody who is due in a run. */
export async function produceRun({ pipeline, config, signal }: Producing, run: Run): Promise<number> {
  const producer = producers.find(({ name }) => name === run.kind)
  if (!producer) throw new Problem(`produce run ${run.id}: this version knows no ${run.kind}`)
  return produce(producer, run, {
    profiles: pipeline.profiles,
    runs: pipeline.runs,
    queue: pipeline.queue,
    sleep: (ms, stop) => wait(ms, undefined, { signal: stop }),
    signal,
    limits: { pageSize: 1000, backlogMax: config.backlogMax, pauseMs: 250 },
  })
}

/** Looks after runs of which nothing was heard for a while. */
export async function settleRuns(context: Producing, idleMs: number): Promise<void> {
  for (const run of await context.pipeline.runs.silent(idleMs)) await settleRun(context, run)
}

/**
 * A run whose lane is empty though it waits for jobs has lost them: a queue that was emptied by force has forgotten
 * people, the orders have not. They are enqueued again. One that waits for nobody is over.
 */
export async function settleRun(context: Producing, run: Run): Promise<void> {
  const { runs, queue } = context.pipeline
  const producer = producers.find(({ name }) => name === run.kind)
  const { waiting, active, delayed } = producer ? await queue.backlog(producer.lane) : idle
  if (waiting + active + delayed > 0) return
  const { ids } = await runs.open(run.id, '0', 1)
  if (producer && ids.length > 0) await produceRun(context, run)
  else await runs.end(run.id, 'done')
}

const idle = { waiting: 0, active: 0, delayed: 0 }

/** Ticks until closed. */
export function startTicks(pipeline: Pipeline, config: Config, log: Log): Promise<Scheduler> {
  return startScheduler({
    schedules: schedulesOf(config.schedule),
    runs: pipeline.runs,
    now: pipeline.clock.now,
    produce: async (run, signal) => {
      const enqueued = await produceRun({ pipeline, config, signal }, run)
      if (enqueued > 0) log.info({ run: run.id, kind: run.kind, profiles: enqueued }, 'enqueued')
    },
    settle: (idleMs, signal) => settleRuns({ pipeline, config, signal }, idleMs),
    log,
  })
}
