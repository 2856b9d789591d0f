/** What each tick produces. The cron lines can be changed by NIGHTLY_CRON and SWEEP_CRON, the zone by SCHEDULE_TIME_ZONE. */
export type Schedule = {
  readonly name: 'nightly' | 'sweep'
  /** Five cron fields, in `timeZone`. */
  readonly cron: string
  readonly timeZone: string
  /** How old a missed slot may be and still be made up. */
  readonly makeUpMs: number
}

const HOUR = 60 * 60 * 1000

export const scheduleDefaults = {
  nightlyCron: '0 3 * * *',
  sweepCron: '*/10 * * * *',
  timeZone: 'UTC',
} as const

export function schedulesOf(settings: { nightlyCron: string; sweepCron: string; timeZone: string }): Schedule[] {
  return [
    { name: 'nightly', cron: settings.nightlyCron, timeZone: settings.timeZone, makeUpMs: 25 * HOUR },
    // A missed sweep is made up by the next one: it looks at everything that is due, however long.
    { name: 'sweep', cron: settings.sweepCron, timeZone: settings.timeZone, makeUpMs: 0 },
  ]
}
