import type { Problem } from '../base/errors.ts'
import { isOutage } from '../base/postgres/postgres-errors.ts'
import { sleep } from '../base/sleep.ts'
import { formatCount, formatDuration, formatNumber } from '../base/text/readable.ts'
import { createTimeLeft } from '../base/time/time-left.ts'
import { SECOND } from '../base/time/units.ts'
import type { Lane } from '../pipeline/fleet/budget.ts'
import type { Run } from '../pipeline/warehouse/runs/stored-runs.ts'
import type { Pipeline } from './pipeline.ts'
import { troubleText } from './read-status.ts'
import type { RemarkOutput } from './select-profiles.ts'

/** Where the progress of a run is shown: a terminal, for example. */
type RunProgress = RemarkOutput & {
  progress(text: string, share?: number): void
  progressEnd(): void
}

type FollowRunOptions = {
  readonly pipeline: Pipeline
  readonly runId: string
  readonly lane: Lane
  readonly terminal: RunProgress
  readonly signal: AbortSignal
  /** Called for a running run whose lane has stayed empty: the queue has lost its jobs. */
  readonly recoverRun: (run: Run) => Promise<void>
  /** Why upstream refuses the account, if it does: then the run cannot end, and its progress is not followed further. */
  readonly halted?: () => Problem | undefined
}

const POLL_EVERY_MS = 250
const LEFT_EVERY_MS = 2 * SECOND
/** The question how much is left may take this share of the time, however large the warehouse. */
const LEFT_TIME_SHARE = 0.02
const TROUBLE_EVERY_MS = 2 * SECOND
/** How long a lane must stay empty before the jobs of a running run count as lost. */
const EMPTY_FOR_MS = 3 * SECOND

/** Shows the progress of a run until it has ended. */
export async function followRun(options: FollowRunOptions): Promise<Run> {
  const { pipeline, runId, lane, terminal, signal } = options
  const startedAt = performance.now()
  const leftMsOf = createLeftWatch(pipeline, lane)
  const tellTrouble = createTroubleWatch(options)
  let emptySince: number | undefined
  for (;;) {
    const run = await pipeline.runs.get(runId)
    if (!run) throw new Error(`follow run ${runId}: there is no such run`)
    await tellTrouble(run)
    const jobs = run.state === 'running' ? await countJobs(pipeline, lane) : 0
    const elapsedMs = performance.now() - startedAt
    terminal.progress(runProgressText(run, { elapsedMs, leftMs: await leftMsOf(run), jobs }), shareOf(run))
    const problem = options.halted?.()
    if (problem) throw problem
    if (run.state !== 'running') {
      terminal.progressEnd()
      return run
    }
    const isLaneEmpty = run.enqueuedAll && jobs === 0
    emptySince = isLaneEmpty ? (emptySince ?? performance.now()) : undefined
    if (emptySince !== undefined && performance.now() - emptySince > EMPTY_FOR_MS) {
      await options.recoverRun(run)
      emptySince = undefined
    }
    await sleep(POLL_EVERY_MS, signal)
  }
}

async function countJobs({ queue }: Pick<Pipeline, 'queue'>, lane: Lane): Promise<number> {
  const { waiting, active, delayed } = await queue.backlog(lane)
  return waiting + active + delayed
}

const shareOf = ({ done, failed, enqueued }: Run): number => (enqueued === 0 ? 0 : (done + failed) / enqueued)

type FollowedPipeline = {
  readonly runs: Pick<Pipeline['runs'], 'workLeft'>
  readonly queue: Pick<Pipeline['queue'], 'backlog'>
}

/**
 * Asks periodically how much is left, and estimates how long it takes. The estimate runs down until the next answer, which
 * may be minutes away; where there was none, nothing is known.
 */
export function createLeftWatch({ runs, queue }: FollowedPipeline, lane: Lane, now = () => performance.now()) {
  const timeLeft = createTimeLeft()
  let next = 0
  let endsAtMs: number | undefined
  const estimateEnd = async (run: Run, atMs: number): Promise<number | undefined> => {
    const left = await runs.workLeft(run).catch(undefinedWhenAway)
    next = atMs + Math.max(LEFT_EVERY_MS, (now() - atMs) / LEFT_TIME_SHARE)
    if (left === undefined) return undefined
    const { jobs, items, itemsOfLongestJob } = left
    const { active } = await queue.backlog(lane)
    const leftMs = timeLeft.estimate({
      atMs,
      jobsDone: run.done + run.failed,
      itemsDone: run.itemsPushed + run.itemsPushedElsewhere,
      jobsLeft: jobs,
      ...(run.kind === 'backfill' ? noItems : { itemsLeft: items, itemsOfLongestJob }),
      jobsAtOnce: active,
    })
    return leftMs === undefined ? undefined : atMs + leftMs
  }
  return async (run: Run): Promise<number | undefined> => {
    const atMs = now()
    if (atMs >= next) endsAtMs = await estimateEnd(run, atMs)
    return endsAtMs === undefined ? undefined : Math.max(0, endsAtMs - now())
  }
}

/** While Postgres is away or slow, nobody can say how much is left: that is no reason to stop. */
function undefinedWhenAway(error: unknown): undefined {
  if (!isOutage(error)) throw error
}

/** Reports, once each, the trouble that keeps the workers from the run's lane, and its end. */
function createTroubleWatch({ pipeline, lane, terminal }: FollowRunOptions) {
  let next = 0
  let reported: string | undefined
  return async (run: Run): Promise<void> => {
    const atMs = performance.now()
    if (atMs < next) return
    next = atMs + TROUBLE_EVERY_MS
    const troubles = await pipeline.liveWorkers.listTroubles(await pipeline.engine.queueId())
    const trouble = troubles.find((trouble) => trouble.lane === lane)
    if (trouble?.reason === reported) return
    reported = trouble?.reason
    terminal.progressEnd()
    const waiting = formatCount(run.enqueued - run.done - run.failed, 'profile')
    terminal.say(trouble === undefined ? 'it works again: going on' : troubleText(trouble, waiting))
  }
}

/** A back-fill pushes nothing. */
const noItems = { itemsLeft: 0, itemsOfLongestJob: 0 }

/** How many there are is known when all are enqueued. */
function profilesText({ done, failed, enqueued, enqueuedAll }: Run): string {
  if (enqueued === 0) return enqueuedAll ? 'no profile is due' : 'looking for profiles that are due'
  return `${formatNumber(done + failed)}/${formatNumber(enqueued)}${enqueuedAll ? '' : '+'} profiles`
}

type LaneState = { elapsedMs: number; leftMs: number | undefined; jobs: number }

/** `jobs`: of all runs in the lane. While those of earlier runs go first, this run does not move. */
export function runProgressText(run: Run, { elapsedMs, leftMs, jobs }: LaneState): string {
  const foreign = jobs - (run.enqueued - run.done - run.failed)
  const pushed = run.itemsPushed + run.itemsPushedElsewhere
  const perSecond = Math.round(run.requests / Math.max(0.001, elapsedMs / SECOND))
  return [
    profilesText(run),
    ...(run.enqueuedAll && foreign > 0 ? [`${formatCount(foreign, 'job')} of other runs waiting too`] : []),
    ...(run.failed > 0 ? [`${formatNumber(run.failed)} failed`] : []),
    ...(pushed > 0 ? [`${formatNumber(pushed)} items pushed`] : []),
    `${formatNumber(run.rowsRead)} rows`,
    `${formatNumber(perSecond)} requests/s`,
    `${leftMs === undefined ? '…' : formatDuration(leftMs)} left`,
  ].join(' · ')
}
