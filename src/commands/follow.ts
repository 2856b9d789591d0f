import { setTimeout as wait } from 'node:timers/promises'
import { type Lane, lanes } from '../budget.ts'
import type { Problem } from '../errors.ts'
import type { Run } from '../warehouse/runs.ts'
import { SECOND } from '../window.ts'
import type { Pipeline } from './pipeline.ts'
import { duration, number, type Terminal } from './terminal.ts'

export type FollowOptions = {
  readonly pipeline: Pipeline
  readonly runId: string
  readonly lane: Lane
  readonly terminal: Terminal
  readonly signal: AbortSignal
  /** What to do about a run whose lane is empty though it has not ended. */
  readonly settle: (run: Run) => Promise<void>
  /** Why the account is stopped, if it is: then there is no use in waiting. */
  readonly halted?: () => Problem | undefined
}

const LOOK_EVERY_MS = 250
/** How long an empty queue must stay empty before a run that still waits for jobs counts as having lost them. */
const EMPTY_FOR_MS = 3 * SECOND

/** Shows a run's progress until it has ended. */
export async function followRun(options: FollowOptions): Promise<Run> {
  const { pipeline, runId, lane, terminal, signal } = options
  const startedAt = performance.now()
  let emptySince: number | undefined
  for (;;) {
    const run = await pipeline.runs.get(runId)
    if (!run) throw new Error(`follow run ${runId}: there is no such run`)
    terminal.progress(progressOf(run, performance.now() - startedAt), shareOf(run))
    const problem = options.halted?.()
    if (problem) throw problem
    if (run.state !== 'running') return ended(terminal, run)
    const { waiting, active, delayed } = await pipeline.queue.backlog(lane)
    const empty = run.enqueuedAll && waiting + active + delayed === 0
    emptySince = empty ? (emptySince ?? performance.now()) : undefined
    if (emptySince !== undefined && performance.now() - emptySince > EMPTY_FOR_MS) {
      await options.settle(run)
      emptySince = undefined
    }
    await wait(LOOK_EVERY_MS, undefined, { signal })
  }
}

function ended(terminal: Terminal, run: Run): Run {
  terminal.progressEnd()
  return run
}

const shareOf = ({ done, failed, enqueued }: Run): number => (enqueued === 0 ? 0 : (done + failed) / enqueued)

function progressOf(run: Run, elapsedMs: number): string {
  const finished = run.done + run.failed
  const left = finished > 0 && run.enqueuedAll ? duration((elapsedMs / finished) * (run.enqueued - finished)) : '…'
  const perSecond = Math.round(run.requests / Math.max(0.001, elapsedMs / SECOND))
  return [
    `${number(finished)}/${number(run.enqueued)} profiles`,
    ...(run.failed > 0 ? [`${number(run.failed)} failed`] : []),
    `${number(run.rowsRead)} rows`,
    `${number(perSecond)} requests/s`,
    `${left} left`,
  ].join(' · ')
}

/** Nothing waits and nothing is under way, in any lane. */
export async function isIdle(pipeline: Pipeline): Promise<boolean> {
  const backlogs = await Promise.all(lanes.map((lane) => pipeline.queue.backlog(lane)))
  return backlogs.every(({ waiting, active, delayed }) => waiting + active + delayed === 0)
}
