import { pulledStreams } from '../../config/streams.ts'
import { sync } from '../../jobs/sync.ts'
import { Problem } from '../base/errors.ts'
import { sleep } from '../base/sleep.ts'
import { formatCount, formatDuration, formatNumber } from '../base/text/readable.ts'
import { followRun } from '../operations/follow-run.ts'
import { untilAborted } from '../operations/processes/repeat.ts'
import { type RunningWorker, startWorker, workerCloseMaxMs } from '../operations/processes/start-worker.ts'
import { countWorkersOfAllParts } from '../operations/processes/worker-heartbeat.ts'
import { produceRun, recoverContextOf } from '../operations/produce-run.ts'
import { selectedStreams } from '../operations/select-profiles.ts'
import { addCounts } from '../pipeline/transfer/order.ts'
import { WORKER_HEARTBEAT_MS } from '../pipeline/warehouse/runs/live-workers.ts'
import type { Run } from '../pipeline/warehouse/runs/stored-runs.ts'
import { recoverRun } from '../pipeline/work/recover-run.ts'
import type { Sandbox } from '../service/start-sandbox.ts'
import { awaitDerivation } from './await-derivation.ts'
import { type CommandContext, exitCodes } from './terminal/command-context.ts'
import { printResult } from './terminal/print-result.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { OpenPipeline } from './with-pipeline.ts'

/**
 * A sync that starts before the local sandbox has derived scores from its people's logs would find little. A real
 * upstream is never waited for.
 */
export async function untilSandboxDerived(
  sandbox: Sandbox,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  let most = 0
  terminal.progress('the sandbox derives scores from its people’s logs …')
  const derived = sandbox.derived((left) => {
    most = Math.max(most, left)
    terminal.progress(`scores derived, ${formatNumber(left)} of ${formatNumber(most)} days to go`, 1 - left / most)
  })
  derived.catch(() => undefined) // the sandbox is closed while the command stops
  await Promise.race([derived, untilAborted(signal)])
  terminal.progressEnd()
  signal.throwIfAborted()
  if (most > 0) terminal.say(`  ${terminal.paintRemark('good', '✓')} Scores are derived from their logs`)
}

/**
 * Enqueues the profiles that are due in a run and follows the run to its end. Where no worker is running this process
 * works on the queue. Stopped by Ctrl-C it lets the running jobs finish; the other jobs stay in the queue and in the
 * ledger.
 */
export async function completeRun(context: CommandContext, opened: OpenPipeline, run: Run): Promise<Run> {
  const { terminal } = context
  const workers = await countWorkersOfAllParts(opened.pipeline)
  const ownWorker = createOwnWorker(context, opened)
  if (workers === 0) ownWorker.start()
  terminal.say(
    workers === 0
      ? `run ${run.id}: working`
      : `run ${run.id}: handed to ${formatCount(workers, 'running worker')}, following`,
  )
  try {
    const ended = await produceAndFollow(context, opened, { run, ownWorker })
    return run.kind === 'sync' ? await readDerived(context, opened, { run: ended, ownWorker }) : ended
  } catch (error) {
    if (context.signal.aborted) return stopRun(opened, run, terminal)
    ownWorker.abandonJobs()
    throw error
  }
}

/** The worker of this process: it is started at once, or when the heartbeats of the running workers have stopped. */
type OwnWorker = ReturnType<typeof createOwnWorker>

function createOwnWorker(context: CommandContext, { pipeline, closeStack, fail }: OpenPipeline) {
  let worker: RunningWorker | undefined
  let drainMs: number | undefined
  const { config } = context
  // While the run is followed, the terminal says in words why its jobs do not succeed.
  const log = config.logLevel === 'info' ? context.log.child({}, { level: 'error' }) : context.log
  return {
    start() {
      if (worker) return
      const started = startWorker({ pipeline, config, log, onSilent: fail })
      worker = started
      closeStack.add({ close: () => started.close(drainMs) }, 'worker', workerCloseMaxMs(config))
    },
    isRunning: () => worker !== undefined,
    halted: () => worker?.halted(),
    /** The command has failed: closing waits for no job any more. They are safe to begin again, and a lost queue would not let them end. */
    abandonJobs() {
      drainMs = 0
    },
  }
}

type FollowedRun = { run: Run; ownWorker: OwnWorker }

/** The running workers may freeze or be killed: then this process works on the jobs. */
async function takeOverFromSilentWorkers(
  { terminal }: CommandContext,
  { pipeline }: OpenPipeline,
  { run, ownWorker, signal }: FollowedRun & { signal: AbortSignal },
): Promise<void> {
  while (!ownWorker.isRunning()) {
    await sleep(WORKER_HEARTBEAT_MS, signal).catch(() => undefined) // aborted: the run has ended
    if (signal.aborted) return
    // While the database does not answer, the workers count as running.
    const workers = await countWorkersOfAllParts(pipeline).catch(() => 1)
    if (workers > 0 || signal.aborted) continue
    terminal.progressEnd()
    terminal.say(`run ${run.id}: no running worker shows life any more, working`)
    ownWorker.start()
  }
}

async function produceAndFollow(context: CommandContext, opened: OpenPipeline, followedRun: FollowedRun): Promise<Run> {
  const { config, terminal } = context
  const { run, ownWorker } = followedRun
  const { pipeline, signal } = opened
  const stopTakeover = new AbortController()
  const takeover = takeOverFromSilentWorkers(context, opened, {
    ...followedRun,
    signal: AbortSignal.any([signal, stopTakeover.signal]),
  })
  const producing = { pipeline, config, signal }
  const followed = followRun({
    pipeline,
    runId: run.id,
    lane: run.kind === 'backfill' ? 'backfill' : 'manual',
    terminal,
    signal,
    recoverRun: (now) => recoverRun(recoverContextOf(producing), now),
    halted: ownWorker.halted,
  })
  // Both at once: the progress is shown while profiles are still being enqueued.
  try {
    const [, ended] = await Promise.all([produceRun(producing, run, { untilAll: true }), followed])
    return ended
  } finally {
    stopTakeover.abort()
    await takeover
  }
}

/**
 * After a push: waits until upstream has derived from it, and reads that. Ctrl-C ends the wait; what was done stays done. Returns
 * the run, with what the readings after it did.
 */
async function readDerived(context: CommandContext, opened: OpenPipeline, followed: FollowedRun): Promise<Run> {
  const { run, ownWorker } = followed
  if (run.itemsPushed + run.itemsPushedElsewhere === 0) return run
  const { pool, runs, clock } = opened.pipeline
  const chosen = sync.params.parse(run.params).streams ?? []
  let whole = run
  await awaitDerivation(run, {
    pool,
    terminal: context.terminal,
    signal: opened.signal,
    streams: selectedStreams(pulledStreams, chosen).map(({ name }) => name),
    now: clock.now,
    async readAgain(profileIds) {
      const again = await runs.create('sync', { ...run.params, profileIds })
      try {
        const ended = await produceAndFollow(context, opened, { run: again, ownWorker })
        whole = withReading(whole, ended)
        return ended
      } catch (error) {
        if (context.signal.aborted) await runs.end(again.id, 'stopped')
        throw error
      }
    },
  })
  context.terminal.progressEnd()
  return whole
}

/** The counts of both, over the time of both. The people are the same: they count once. */
const withReading = (run: Run, again: Run): Run => ({
  ...run,
  endedAt: again.endedAt,
  state: again.state === 'done' ? run.state : again.state,
  failed: run.failed + again.failed,
  ...addCounts(run, again),
})

async function stopRun({ pipeline }: OpenPipeline, { id, kind }: Run, terminal: Terminal): Promise<Run> {
  terminal.progressEnd()
  terminal.say('stopping: what is under way is finished …')
  // A back-fill stays open, and the same command carries it on; the next sync finds what a sync left undone.
  if (kind !== 'backfill') await pipeline.runs.end(id, 'stopped')
  const run = await pipeline.runs.get(id)
  if (!run) throw new Problem(`stop run ${id}: it is gone`)
  return run
}

/** Prints what a run did; the exit code says whether something failed or was left undone. */
export function printRunSummary(command: 'sync' | 'backfill', terminal: Terminal, run: Run): number {
  printResult(terminal, [command, run], summaryLines(run, terminal))
  return run.state === 'done' && run.failed + run.refused === 0 ? exitCodes.done : exitCodes.failures
}

function summaryLines(run: Run, { paint }: Terminal): string[] {
  const took = run.endedAt ? ` in ${formatDuration(run.endedAt.getTime() - run.startedAt.getTime())}` : ''
  const head = run.state === 'done' ? `${run.kind} done${took}` : paint('odd', `${run.kind} stopped before its end`)
  const unchanged = run.unchanged > 0 ? ` (${formatNumber(run.unchanged)} unchanged)` : ''
  const lines = [
    `${head}: ${formatCount(run.done, 'profile')}, ${formatCount(run.requests, 'request')}${unchanged}, ${formatCount(run.rowsRead, 'row')} read, ${formatNumber(run.rowsWritten)} written, ${formatCount(run.itemsPushed, 'item')} pushed`,
  ]
  if (run.itemsPushedElsewhere > 0) {
    const items = formatCount(run.itemsPushedElsewhere, 'item')
    lines.push(
      `${items} of these profiles were pushed meanwhile by jobs of other runs, such as the sweep: vitalsync runs`,
    )
  }
  if (run.failed > 0)
    lines.push(`${paint('bad', `${formatCount(run.failed, 'profile')} failed`)}: vitalsync failures list`)
  if (run.refused > 0) {
    const refused = paint('odd', `${formatNumber(run.refused)} windows or records refused`)
    lines.push(`${refused}: vitalsync failures list, vitalsync quarantine list`)
  }
  if (run.state !== 'done') lines.push('The same command carries on.')
  return lines
}
