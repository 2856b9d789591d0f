import { SECOND } from '../time/units.ts'
import type { LaneQueue } from './engine.ts'

/**
 * BullMQ ignores the pause that `rateLimit` sets, on both engines, where the worker has no limiter of its own. No lane
 * ever reaches this limit.
 */
export const laneLimiter = { max: 1_000_000_000, duration: SECOND }

/** For how long no worker starts a job of the lane; 0 or less when it is not paused. */
export const pauseLeftMs = (queue: LaneQueue): Promise<number> => queue.getRateLimitTtl(laneLimiter.max)

/** Pauses the lane for every worker. A pause never ends a longer one: one short outage must not cut upstream's Retry-After. */
export async function pauseLane(queue: LaneQueue, pauseMs: number): Promise<void> {
  if (pauseMs > (await pauseLeftMs(queue))) await queue.rateLimit(Math.max(1, Math.ceil(pauseMs)))
}
