import type { Config } from '../../../config/env.ts'
import { schedulesOf } from '../../../config/schedules.ts'
import { pulledStreams } from '../../../config/streams.ts'
import type { Log } from '../../base/log.ts'
import { isOutage } from '../../base/postgres/postgres-errors.ts'
import { MINUTE, SECOND } from '../../base/time/units.ts'
import { type Scheduler, startScheduler } from '../../pipeline/schedule/scheduler.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import { drawCoveredWindows, type WindowDraw } from '../../pipeline/warehouse/verification/covered-windows.ts'
import { uncoverUnmended } from '../../pipeline/warehouse/verification/stored-differences.ts'
import type { Produced } from '../../pipeline/work/producer.ts'
import { recoverRuns } from '../../pipeline/work/recover-run.ts'
import type { Pipeline } from '../pipeline.ts'
import { produceRun, recoverContextOf } from '../produce-run.ts'

type ProducingContext = {
  readonly pipeline: Pipeline
  readonly config: Config
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * After a nightly, the process that enqueued the last of it creates its sentinel. A sentinel that could not be created is left to
 * `recoverSentinels`.
 */
async function concludeProduction(context: ProducingContext, run: Run, produced: Produced): Promise<void> {
  if (produced.enqueued > 0) context.log.info({ run: run.id, kind: run.kind, profiles: produced.enqueued }, 'enqueued')
  if (run.kind === 'nightly' && produced.isLast) await sendSentinel(context, run)
}

async function sendSentinel(context: ProducingContext, nightly: Run): Promise<void> {
  const sentinel = await createSentinelRun(context, nightly)
  if (sentinel) await produceRun(context, sentinel)
}

/**
 * Creates the sentinels of nightlies that were left without: the process that enqueued the last of them died before it came to that,
 * or its draw failed. One process at a time takes a nightly, when nobody has worked on it for `idleMs`.
 */
export async function recoverSentinels(context: ProducingContext, idleMs: number): Promise<void> {
  if (context.config.sentinelShare === 0) return
  for (const nightly of await context.pipeline.runs.takeUnwatched(idleMs)) await sendSentinel(context, nightly)
}

/** Produces the runs of all schedules, and recovers runs, until closed. */
export function startProducingScheduler(pipeline: Pipeline, config: Config, log: Log): Promise<Scheduler> {
  const produce = async (run: Run, signal: AbortSignal) => {
    const context = { pipeline, config, log, signal }
    await concludeProduction(context, run, await produceRun(context, run))
  }
  return startScheduler({
    schedules: schedulesOf(config.schedule),
    runs: pipeline.runs,
    now: pipeline.clock.now,
    produce,
    async recoverRuns(idleMs, signal) {
      const context = recoverContextOf({ pipeline, config, signal })
      await recoverRuns({ ...context, produce: (run) => produce(run, signal) }, idleMs)
      await recoverSentinels({ pipeline, config, log, signal }, idleMs)
    },
    log,
  })
}

/** A small warehouse draws more than its share, or it would learn nothing for years. */
const WINDOWS_MIN = 3

type SentinelContext = {
  readonly pipeline: Pick<Pipeline, 'pool' | 'runs'>
  readonly config: Pick<Config, 'sentinelShare'>
}

type Nightly = Pick<Run, 'id' | 'startedAt' | 'params'>

/**
 * Draws the covered windows that the sentinel of a nightly reads again, and creates its run. Undefined: it is turned off,
 * nothing is covered, or another process created the run. Where this fails, the nightly is left without a sentinel for
 * `takeUnwatched` to find.
 */
export async function createSentinelRun(context: SentinelContext, nightly: Nightly): Promise<Run | undefined> {
  const { pipeline, config } = context
  const { pool, runs } = pipeline
  // Also those of a killed `verify --mend`. During an outage it is left to the next nightly.
  await uncoverUnmended(pool).catch((error: unknown) => {
    if (!isOutage(error)) throw error
  })
  if (config.sentinelShare === 0) return undefined
  const slotAt = slotOf(nightly)
  const draw = await whileAlive(context, nightly, () => drawWindows(context, nightly, slotAt))
  if (draw) return runs.claimSlot('sentinel', slotAt, draw)
  await runs.skipSlot({ schedule: 'sentinel', slotAt, runId: nightly.id })
  return undefined
}

async function drawWindows(
  { pipeline, config }: SentinelContext,
  { id }: Nightly,
  slotAt: Date,
): Promise<WindowDraw | undefined> {
  const { pool, runs } = pipeline
  const enqueued = (await runs.get(id))?.enqueued ?? 0
  const requestsPerProfile = (await runs.requestsPerProfile('nightly')) ?? pulledStreams.length
  const count = Math.max(WINDOWS_MIN, Math.ceil(config.sentinelShare * enqueued * requestsPerProfile))
  const seed = String(Math.floor(slotAt.getTime() / MINUTE))
  return drawCoveredWindows({ pool, streams: pulledStreams }, { count, seed })
}

const ALIVE_EVERY_MS = 20 * SECOND

/** A draw of a large warehouse takes long: while the nightly shows life no other process draws. */
async function whileAlive<T>({ pipeline }: SentinelContext, { id }: Nightly, work: () => Promise<T>): Promise<T> {
  const sign = () => void pipeline.runs.heartbeat(id).catch(() => undefined) // the next one comes in time
  const signs = setInterval(sign, ALIVE_EVERY_MS)
  try {
    return await work()
  } finally {
    clearInterval(signs)
  }
}

/** The sentinel has the slot of its nightly: however many processes try, a slot is claimed once. */
function slotOf({ params, startedAt }: Pick<Run, 'params' | 'startedAt'>): Date {
  const { slotAt } = params
  return typeof slotAt === 'string' ? new Date(slotAt) : startedAt
}
