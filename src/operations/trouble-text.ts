import { formatCount, formatMinute } from '../base/text/readable-values.ts'
import type { LaneTrouble } from '../pipeline/fleet/lane-troubles.ts'

/** One line on what keeps the workers from a lane. `waiting`: who waits, such as `3 jobs`. */
export function troubleText({ lane, reason, sinceAt, untilAt, attempts }: LaneTrouble, waiting: string): string {
  const again = untilAt === null ? 'tried again one by one' : `tried again at ${untilAt.slice(11, 19)} UTC`
  const failed = formatCount(attempts, 'attempt')
  return `no ${lane} job succeeds since ${formatMinute(new Date(sinceAt))} UTC: ${reason}; ${waiting} waiting, ${again}, ${failed} so far`
}
