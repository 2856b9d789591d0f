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
import type { Run, Tally } from '../warehouse/runs.ts'
import { MINUTE, SECOND } from '../window.ts'
import { jobs, type Pipeline } from './pipeline.ts'

const producers: readonly Producer[] = [nightly, sweep, sync, backfill]

export type Working = {
  /** The last reason for which the account was stopped, if it was. */
  halted(): Problem | undefined
  /** Hands in all counts so far. */
  flush(): Promise<void>
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
  const tallies = new Map<string, Tally>()
  let halted: Problem | undefined
  const onEnded = async (ended: Ended) => {
    if (ended.outcome === 'halted' && ended.error instanceof Problem) halted = ended.error
    if (ended.outcome === 'done') halted = undefined
    await note(pipeline, ended)
    count(tallies, ended)
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
  const flush = async () => {
    const now = [...tallies]
    tallies.clear()
    for (const [runId, tally] of now) await pipeline.runs.count(runId, tally)
  }
  const flushing = setInterval(() => {
    flush().catch((error: Error) => log.warn({ err: error.message }, 'could not add to the run counts'))
  }, SECOND)
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
    flush,
    async close() {
      watchdog.close()
      await workers.close(config.drainSeconds * SECOND)
      clearInterval(flushing)
      await flush()
    },
  }
}

/** What the ledger keeps of an attempt: a success forgets the failure before it, a failure says why. */
async function note({ ledger }: Pipeline, { profileId, outcome, job, runId, error }: Ended): Promise<void> {
  if (profileId === undefined) return
  if (outcome === 'done') await ledger.finish(profileId, { runId, job })
  if (outcome === 'failed') await ledger.fail(profileId, { job, ...reasonOf(error) })
}

function reasonOf(error: unknown): { reason: string; hint: string | undefined } {
  if (error instanceof Problem) return { reason: error.message, hint: error.hint }
  const name = error instanceof Error ? error.name : 'unknown'
  return { reason: `unexpected error (${name})`, hint: 'The worker’s log has the details at level error.' }
}

function count(tallies: Map<string, Tally>, { runId, outcome, counts }: Ended): void {
  if (runId === undefined) return
  const tally = tallies.get(runId) ?? emptyTally()
  if (outcome === 'done') tally.done += 1
  if (outcome === 'failed') tally.failed += 1
  tally.refused += counts.refused
  tally.requests += counts.requests
  tally.rowsRead += counts.rowsRead
  tally.rowsWritten += counts.rowsWritten
  tally.itemsPushed += counts.itemsPushed
  tallies.set(runId, tally)
}

const emptyTally = (): Tally => ({
  done: 0,
  failed: 0,
  refused: 0,
  requests: 0,
  rowsRead: 0,
  rowsWritten: 0,
  itemsPushed: 0,
})

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

/** Enqueues everybody who is due in a run. */
export async function produceRun(
  { pipeline, config, signal }: { pipeline: Pipeline; config: Config; signal: AbortSignal },
  run: Run,
): Promise<number> {
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

/**
 * Ends runs whose jobs are all out of the queue, though their counts do not say so: jobs that were asked for twice are
 * done once, and the counts of a worker that died are lost. A nightly is looked through once more before, for a queue
 * that was emptied by force has forgotten people.
 */
export async function settleRuns({ runs, queue }: Pipeline, idleMs: number): Promise<void> {
  for (const run of await runs.silent(idleMs)) {
    const producer = producers.find(({ name }) => name === run.kind)
    const { waiting, active, delayed } = producer ? await queue.backlog(producer.lane) : idle
    if (waiting + active + delayed > 0) continue
    const opened = producer?.isResumable === true && (await runs.reopen(run.id))
    if (!opened) await runs.end(run.id, 'done')
  }
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
    settle: (idleMs) => settleRuns(pipeline, idleMs),
    log,
  })
}
