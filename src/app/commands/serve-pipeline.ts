import type { Config } from '../../../config/env.ts'
import { type CloseStack, withCloseStack } from '../../base/close-stack.ts'
import { UsageProblem } from '../../base/errors.ts'
import { sleep } from '../../base/sleep.ts'
import { requireGivenAddresses } from '../../operations/addresses.ts'
import { openPipeline, type Pipeline } from '../../operations/pipeline.ts'
import { untilAborted } from '../../operations/processes/repeat.ts'
import { openMonitoring } from '../../operations/processes/start-monitoring.ts'
import { startProducingScheduler } from '../../operations/processes/start-producing.ts'
import { type RunningWorker, startWorker, workerCloseMaxMs } from '../../operations/processes/start-worker.ts'
import { produceRun } from '../../operations/produce-run.ts'
import { formatPartList } from '../../pipeline/fleet/queue-parts.ts'
import { warnOfExposedConnections } from '../exposed-connections.ts'
import type { CommandContext } from '../terminal/command-context.ts'

type WorkerOptions = {
  /** Enqueues due profiles, and exits when no profile is due and no job waits. */
  readonly drain: boolean
  /** The parts of the queue to work on; absent: all. */
  readonly parts?: readonly number[]
}

const IDLE_POLL_EVERY_MS = 500
/** How many polls in a row must find the queue empty: a producer may be between two pages. */
const EMPTY_POLLS_MIN = 3

/** Works on jobs until SIGTERM; then it takes no new job, lets the running jobs finish, and exits. */
export async function runWorker(context: CommandContext, options: WorkerOptions): Promise<void> {
  const { config, log } = context
  const { drain, parts } = options
  requireParts(options, config)
  await withServing(context, 'worker', async ({ pipeline, monitoring, closeStack, signal, fail }) => {
    const worker = closeStack.add(
      startWorker({ pipeline, config, log, onSilent: fail, ...(parts ? { parts } : {}) }),
      'worker',
      workerCloseMaxMs(config),
    )
    closeStack.add(monitoring.watch(pipeline, worker), 'fleet watch')
    log.info({ queue: pipeline.engine.kind, concurrency: config.concurrency, ...partsText(options) }, 'worker is ready')
    if (drain) await untilDrained({ pipeline, config, worker, signal })
    else await untilAborted(signal)
  })
}

/** Creates runs by the cron lines until SIGTERM. Any number of processes may run: each slot is claimed once. */
export async function runSchedule(context: CommandContext): Promise<void> {
  const { config, log } = context
  await withServing(context, 'schedule', async ({ pipeline, monitoring, closeStack, signal }) => {
    const scheduler = closeStack.add(await startProducingScheduler(pipeline, config, log), 'schedule')
    closeStack.add(monitoring.watch(pipeline), 'fleet watch')
    for (const { name, at } of scheduler.nextTicks())
      log.info({ schedule: name, next: at?.toISOString() }, 'schedule is ready')
    await untilAborted(signal)
  })
}

type Serving = {
  readonly pipeline: Pipeline
  readonly monitoring: Awaited<ReturnType<typeof openMonitoring>>
  readonly closeStack: CloseStack
  /** Aborted by SIGTERM and by `fail`. */
  readonly signal: AbortSignal
  /** Ends the process with this error. */
  readonly fail: (error: Error) => void
}

/** Opens the pipeline of a process that runs until it is stopped, with its metrics, and closes both after `work`. */
async function withServing(
  { config, log, signal }: CommandContext,
  name: 'worker' | 'schedule',
  work: (serving: Serving) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const fail = (error: Error) => stop.abort(error)
  await withCloseStack(async (closeStack) => {
    const addresses = requireGivenAddresses(config)
    const monitoring = closeStack.add(await openMonitoring(config, { name: `vitalsync-${name}`, log }), 'monitoring')
    warnOfExposedConnections(log, addresses)
    const pipeline = closeStack.add(await openPipeline({ config, addresses, log, onSkewed: fail }), 'pipeline')
    await work({ pipeline, monitoring, closeStack, signal: AbortSignal.any([signal, stop.signal]), fail })
    stop.signal.throwIfAborted()
  })
}

function requireParts({ drain, parts }: WorkerOptions, { queueParts }: Config): void {
  if (!parts) return
  if (parts.some((part) => part >= queueParts))
    throw new UsageProblem(`work on parts ${formatPartList(parts)}: the queue has ${queueParts} (QUEUE_PARTS)`, {
      hint: `They count from 0: the last is ${queueParts - 1}.`,
    })
  if (drain)
    throw new UsageProblem('drain parts of the queue: profiles that are due have jobs in all parts', {
      hint: 'Leave out --parts, or --drain.',
    })
}

const partsText = ({ parts }: WorkerOptions) => (parts ? { parts: formatPartList(parts) } : {})

type DrainContext = { pipeline: Pipeline; config: Config; worker: RunningWorker; signal: AbortSignal }

/** Resolves when no profile is due and no job waits, or when the signal aborts. Needs no scheduler: it creates the runs itself. */
async function untilDrained({ pipeline, config, worker, signal }: DrainContext): Promise<void> {
  const { queue, runs, profiles } = pipeline
  let lastRunId: string | undefined
  for (let emptyPolls = 0; emptyPolls < EMPTY_POLLS_MIN; ) {
    await sleep(IDLE_POLL_EVERY_MS, signal).catch(() => undefined) // aborted: the loop ends
    if (signal.aborted) return
    const halted = worker.halted()
    if (halted) throw halted
    if (!(await queue.isIdle())) {
      emptyPolls = 0
    } else if ((await hasDueProfiles(profiles)) && (await hasProgress(pipeline, lastRunId))) {
      emptyPolls = 0
      const run = await runs.create('sweep', {})
      lastRunId = run.id
      await produceRun({ pipeline, config, signal }, run, { untilAll: true }).catch(ignoreWhenAborted(signal))
    } else {
      emptyPolls += 1
    }
  }
}

const hasDueProfiles = async ({ listDue }: Pipeline['profiles']) => (await listDue('0', 1)).ids.length > 0

/** After a run that sent no request another run would send none either: its profiles are due again at a later time. */
const hasProgress = async ({ runs }: Pipeline, lastRunId: string | undefined) =>
  lastRunId === undefined || ((await runs.get(lastRunId))?.requests ?? 0) > 0

const ignoreWhenAborted = (signal: AbortSignal) => (error: unknown) => {
  if (!signal.aborted) throw error
}
