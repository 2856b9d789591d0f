import type { Config } from '../../config/env.ts'
import { schedulesOf } from '../../config/schedules.ts'
import { pulledStreams, pushedStreams } from '../../config/streams.ts'
import type { Log } from '../base/log.ts'
import { MINUTE, SECOND } from '../base/time/units.ts'
import { lanes } from '../pipeline/fleet/budget.ts'
import {
  type LaneFacts,
  type QuickFacts,
  quickFactsSchema,
  type SlowFacts,
  slowFactsSchema,
} from '../pipeline/fleet/fleet-facts.ts'
import { isWorking } from '../pipeline/fleet/readiness.ts'
import { oldestJobMs } from '../pipeline/queue/enqueue.ts'
import { openOverdueSlots } from '../pipeline/schedule/slot-watch.ts'
import { askQuickFacts, askSlowFacts } from '../pipeline/warehouse/reports/ask-facts.ts'
import { readSharedFacts } from '../pipeline/warehouse/reports/shared-facts.ts'
import type { Pipeline } from './pipeline.ts'
import { repeatUntilClosed } from './processes/repeat.ts'
import { countLiveWorkers } from './processes/worker-heartbeat.ts'

/** The last answers of the engines, and the facts of the fleet. Times are of this process's own clock. */
export type FleetWatch = ReturnType<typeof startFleetWatch>

const WATCH_EVERY_MS = 5 * SECOND
const SLOW_EVERY_MS = MINUTE
/** Older facts are not exported. */
const FACTS_KEPT_MS = MINUTE

/**
 * Looks every few seconds whether the engines answer, and at the facts of the fleet. A question that hangs keeps no other from
 * being asked: database and queue are watched apart.
 */
export function startFleetWatch(pipeline: Pipeline, config: Config, log: Log) {
  const { pool, engine } = pipeline
  const overdueSlots = openOverdueSlots(schedulesOf(config.schedule), pipeline.runs)
  const seen: {
    quick: QuickFacts | undefined
    slow: SlowFacts | undefined
    databaseAtMs?: number
    queueAtMs?: number
    skewMs: number
  } = { quick: undefined, slow: undefined, skewMs: pipeline.clock.skewMs() }
  const isRecent = () => Date.now() - (seen.databaseAtMs ?? 0) < FACTS_KEPT_MS
  const lookAtDatabase = async () => {
    const sentAtMs = Date.now()
    const { facts, nowMs, askedAtMs } = await readSharedFacts(pool, {
      name: 'quick',
      maxAgeMs: WATCH_EVERY_MS,
      ask: (former, atMs) => askFleet({ pipeline, overdueSlots }, former, atMs),
    })
    const answeredAtMs = Date.now()
    // A query for fresh facts takes time: such a round says less about the clock than the next.
    if (answeredAtMs - sentAtMs < SECOND) seen.skewMs = nowMs - (sentAtMs + answeredAtMs) / 2
    seen.databaseAtMs = answeredAtMs
    const isFresh = askedAtMs !== null && nowMs - askedAtMs < FACTS_KEPT_MS
    seen.quick = isFresh ? quickFactsSchema.safeParse(facts).data : undefined
  }
  const lookAtProfiles = async () => {
    const ask = () => askSlowFacts(pool, { pulled: namesOf(pulledStreams), pushed: namesOf(pushedStreams) })
    const { facts } = await readSharedFacts(pool, { name: 'slow', maxAgeMs: SLOW_EVERY_MS, ask })
    seen.slow = slowFactsSchema.safeParse(facts).data
  }
  const lookAtQueue = async () => {
    await engine.queueId()
    seen.queueAtMs = Date.now()
  }
  const loops = [lookAtDatabase, lookAtQueue, lookAtProfiles].map((look) =>
    repeatUntilClosed(WATCH_EVERY_MS, () =>
      look().catch((error: Error) => log.debug({ err: error.name }, 'could not look at the fleet')),
    ),
  )
  return {
    quick: () => (isRecent() ? seen.quick : undefined),
    slow: () => (isRecent() ? seen.slow : undefined),
    databaseAnsweredAtMs: () => seen.databaseAtMs,
    queueAnsweredAtMs: () => seen.queueAtMs,
    skewMs: () => seen.skewMs,
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
      await overdueSlots.close()
    },
  }
}

const namesOf = (streams: ReadonlyArray<{ readonly name: string }>) => streams.map(({ name }) => name)

type Asker = { readonly pipeline: Pipeline; readonly overdueSlots: ReturnType<typeof openOverdueSlots> }

async function askFleet({ pipeline, overdueSlots }: Asker, former: unknown, nowMs: number): Promise<QuickFacts> {
  const { pool, engine, liveWorkers } = pipeline
  const { mark, ...facts } = await askQuickFacts(pool)
  const queueFacts = await askQueue(pipeline, nowMs).catch(() => undefined) // away: the queue has a watch of its own
  const before = quickFactsSchema.safeParse(former).data?.progress
  const isSame = before?.mark === mark && queueFacts !== undefined && isWorking(queueFacts.lanes)
  return {
    ...facts,
    progress: { mark, sinceMs: isSame ? before.sinceMs : nowMs },
    workers: queueFacts?.workers ?? 0,
    troubles: queueFacts ? await liveWorkers.listTroubles(await engine.queueId()) : [],
    queue: queueFacts?.lanes ?? null,
    slots: await overdueSlots.find(nowMs),
  }
}

async function askQueue({ engine, liveWorkers, queue }: Pipeline, nowMs: number) {
  const facts = await Promise.all(
    lanes.map(async (lane): Promise<LaneFacts> => {
      const backlog = await queue.backlog(lane)
      const oldestMs = backlog.waiting > 0 ? await oldestJobMs(engine, lane) : undefined
      return { lane, ...backlog, oldestSeconds: oldestMs === undefined ? 0 : Math.max(0, nowMs - oldestMs) / SECOND }
    }),
  )
  return { lanes: facts, workers: await countLiveWorkers({ engine, liveWorkers }) }
}
