import { SECOND } from '../../base/time/units.ts'
import type { LaneQueue } from './engine.ts'

/**
 * BullMQ keeps to the pause that `rateLimit` sets only where a limit of jobs a second holds as well, on both engines. No lane
 * ever reaches this one. It is set only while a lane pauses: under a limit, Postgres starts the jobs of a lane one
 * after another, each by a lock and a commit.
 */
const unreachableLimit = { max: 1_000_000_000, duration: SECOND }

/** For how many more milliseconds the queue is paused; 0 or less when it is not. */
export const pauseLeftMs = (queue: LaneQueue): Promise<number> => queue.getRateLimitTtl(unreachableLimit.max)

/** By how much two processes whose jobs ask at the same moment may shorten a pause. */
const CUT_MAX_MS = SECOND

/** Pauses a lane, in all its parts, for every worker. A pause never ends a longer one: one short outage must not cut upstream's Retry-After. */
export async function pauseLane(queues: readonly LaneQueue[], pauseMs: number): Promise<void> {
  await Promise.all(queues.map((queue) => pauseQueue(queue, pauseMs)))
}

async function pauseQueue(queue: LaneQueue, pauseMs: number): Promise<void> {
  const untilMs = performance.now() + pauseMs
  if (pauseMs > (await pauseLeftMs(queue))) await queue.rateLimit(Math.max(1, Math.ceil(pauseMs)))
  await setLimit(queue)
  // A shorter pause that looked before this one was set may have been set after it.
  const leftMs = untilMs - performance.now()
  if ((await pauseLeftMs(queue)) < leftMs - CUT_MAX_MS) await queue.rateLimit(Math.ceil(leftMs))
}

/** Removes the limit from the queue when no pause needs it. Returns whether it is removed. */
export async function clearEndedPause(queue: LaneQueue): Promise<boolean> {
  if ((await pauseLeftMs(queue)) > 0) return false
  await queue.removeGlobalRateLimit()
  // Another worker sets its pause before its limit: a pause that began before the removal is seen here, a later one sets its own.
  if ((await pauseLeftMs(queue)) <= 0) return true
  await setLimit(queue)
  return false
}

const setLimit = (queue: LaneQueue) => queue.setGlobalRateLimit(unreachableLimit.max, unreachableLimit.duration)
