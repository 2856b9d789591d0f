import { HOUR } from '../src/base/time/units.ts'
import type { Schedule } from '../src/pipeline/schedule/timetable.ts'

/** When runs are produced. NIGHTLY_CRON and SWEEP_CRON change the cron lines, SCHEDULE_TIME_ZONE the zone. */
export const scheduleDefaults = {
  nightlyCron: '0 3 * * *',
  sweepCron: '*/10 * * * *',
  timeZone: 'UTC',
} as const

export function schedulesOf(settings: { nightlyCron: string; sweepCron: string; timeZone: string }): Schedule[] {
  return [
    { name: 'nightly', cron: settings.nightlyCron, timeZone: settings.timeZone, makeUpMs: 25 * HOUR },
    // A missed sweep is not made up: the next sweep produces everything that is due, however long it has been due.
    { name: 'sweep', cron: settings.sweepCron, timeZone: settings.timeZone, makeUpMs: 0, firstAtOnce: true },
  ]
}
