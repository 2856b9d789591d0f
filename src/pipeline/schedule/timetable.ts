import cron, { type ScheduledTask } from 'node-cron'
import { UsageProblem } from '../../base/errors.ts'
import { zoneOffsetMs } from '../../base/time/local-time.ts'
import { hasWildcardHour, type ZonedCron } from './slots.ts'

/** A schedule of runs: its cron line, and in which zone it is read. */
export type Schedule = {
  readonly name: 'nightly' | 'sweep'
  /** Five cron fields, in `timeZone`. */
  readonly cron: string
  readonly timeZone: string
  /** A missed slot is made up when it is not older than this. */
  readonly makeUpMs: number
  /** A warehouse that never had a slot of this schedule takes the newest one when its first scheduler starts. */
  readonly firstAtOnce?: boolean
}

export const createTask = (line: string, timezone: string, tick = (): void => undefined): ScheduledTask => {
  try {
    return cron.createTask(line, tick, { timezone, suppressMissedWarning: true })
  } catch (error) {
    throw new UsageProblem(`read the cron line ${line}: ${(error as Error).message}`, {
      hint: 'NIGHTLY_CRON and SWEEP_CRON are lines of five fields: minute, hour, day of the month, month and weekday, such as 0 3 * * *.',
    })
  }
}

export type ScheduleTimetable = { schedule: Schedule; timetable: ZonedCron; matcher: ScheduledTask }

/** The cron library decides which times a line matches: a task in UTC, asked about the wall clock's time as if it were UTC. */
export function createTimetable(schedule: Schedule): ScheduleTimetable {
  const matcher = createTask(schedule.cron, 'UTC')
  const timetable = {
    matches: (wall: Date) => matcher.match(wall),
    hourIsWildcard: hasWildcardHour(schedule.cron),
    offsetMs: zoneOffsetMs(schedule.timeZone),
  }
  return { schedule, timetable, matcher }
}
