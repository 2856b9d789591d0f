import { DAY, HOUR, MINUTE } from '../../../base/time/units.ts'
import {
  exerciseOf,
  jsonPart,
  nightsOf,
  ofType,
  sessionsOf,
  stageSeconds,
  type TimedLog,
  type ZipPart,
} from './timed-logs.ts'

/** The logs of a watch and a scale as the JSON files of a Garmin account's export. */
export function garminConnectFiles(timed: readonly TimedLog[]): ZipPart[] {
  const watch = timed.filter(({ log }) => log.deviceType === 'watch')
  const files = {
    'DI-Connect-Wellness/person_sleepData': [...nightsOf(watch).map(nightOf), ...windowsWithoutSleep(watch)],
    'DI-Connect-Aggregator/UDSFile': daysOf(watch),
    'DI-Connect-Fitness/person_summarizedActivities': [
      { summarizedActivitiesExport: sessionsOf(watch).map(activityOf) },
    ],
    'DI-Connect-Wellness/person_userBioMetrics': ofType(timed, 'weight').map(({ startMs, log }) => ({
      metaData: { calendarDate: gmtText(startMs) },
      weight: { weight: Math.round(log.value * 1000), sourceType: 'INDEX_SCALE', timestampGMT: gmtText(startMs) },
    })),
  }
  return Object.entries(files).map(([name, list]) => jsonPart(`DI_CONNECT/${name}.json`, list))
}

/** `2026-03-29T07:45:03.0` */
const gmtText = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}.0`

const nightOf = ({ night, stages }: { readonly night: TimedLog; readonly stages: readonly TimedLog[] }) => ({
  sleepStartTimestampGMT: gmtText(night.startMs),
  sleepEndTimestampGMT: gmtText(night.endMs),
  calendarDate: gmtText(night.endMs + night.wallShiftMs).slice(0, 10),
  sleepWindowConfirmationType: 'ENHANCED_CONFIRMED_FINAL',
  deepSleepSeconds: stageSeconds(stages, 'deep'),
  lightSleepSeconds: stageSeconds(stages, 'light'),
  remSleepSeconds: stageSeconds(stages, 'rem'),
  awakeSleepSeconds: stageSeconds(stages, 'awake'),
})

/** An account holds a window also for nights that no watch measured: here for the two nights after the last day. */
function windowsWithoutSleep(watch: readonly TimedLog[]) {
  const lastDayMs = Math.floor((watch.at(-1)?.endMs ?? 0) / DAY) * DAY
  const window = (days: number, sleepWindowConfirmationType: string, seconds: object) => ({
    sleepStartTimestampGMT: gmtText(lastDayMs + days * DAY - 2 * HOUR),
    sleepEndTimestampGMT: gmtText(lastDayMs + days * DAY + 5 * HOUR + 12 * MINUTE),
    calendarDate: gmtText(lastDayMs + days * DAY).slice(0, 10),
    sleepWindowConfirmationType,
    ...seconds,
  })
  return [
    window(1, 'UNCONFIRMED', {}),
    window(2, 'OFF_WRIST', { deepSleepSeconds: 0, lightSleepSeconds: 0, remSleepSeconds: 0, awakeSleepSeconds: 0 }),
  ]
}

/** The sums of each local day, in the offset in which the day begins. */
function daysOf(watch: readonly TimedLog[]) {
  const days = Map.groupBy(watch, ({ startMs, wallShiftMs }) => Math.floor((startMs + wallShiftMs) / DAY))
  return [...days].map(([day, dayLogs]) => {
    const shiftMs = dayLogs[0]?.wallShiftMs ?? 0
    const nextShiftMs = dayLogs.at(-1)?.wallShiftMs ?? shiftMs
    return {
      calendarDate: gmtText(day * DAY).slice(0, 10),
      wellnessStartTimeGmt: gmtText(day * DAY - shiftMs),
      wellnessStartTimeLocal: gmtText(day * DAY),
      durationInMilliseconds: DAY + shiftMs - nextShiftMs,
      totalSteps: ofType(dayLogs, 'steps').reduce((sum, { log }) => sum + log.value, 0),
      restingHeartRate: ofType(dayLogs, 'resting_heart_rate')[0]?.log.value ?? null,
    }
  })
}

const activityOf = (sample: TimedLog, index: number) => ({
  activityId: 1000 + index,
  activityType: exerciseOf(sample),
  beginTimestamp: sample.startMs,
  startTimeLocal: sample.startMs + sample.wallShiftMs,
  // Garmin writes durations with fractions of a millisecond.
  duration: sample.endMs - sample.startMs + 0.123,
})
