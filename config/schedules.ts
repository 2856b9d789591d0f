import { HOUR } from '../src/base/time/units.ts'

/** When runs are produced. NIGHTLY_CRON and SWEEP_CRON change the cron lines, SCHEDULE_TIME_ZONE the zone. */
export type Schedule = {
  readonly name: 'nightly' | 'sweep'
  /** Five cron fields, in `timeZone`. */
  readonly cron: string
  readonly timeZone: string
  /** A missed slot is made up when it is not older than this. */
  readonly makeUpMs: number
}

export const scheduleDefaults = {
  nightlyCron: '0 3 * * *',
  sweepCron: '*/10 * * * *',
  timeZone: 'UTC',
} as const

export function schedulesOf(settings: { nightlyCron: string; sweepCron: string; timeZone: string }): Schedule[] {
  return [
    { name: 'nightly', cron: settings.nightlyCron, timeZone: settings.timeZone, makeUpMs: 25 * HOUR },
    // A missed sweep is not made up: the next sweep produces everything that is due, however long it has been due.
    { name: 'sweep', cron: settings.sweepCron, timeZone: settings.timeZone, makeUpMs: 0 },
  ]
}
