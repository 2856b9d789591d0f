import { DAY, MINUTE } from '../../../base/time/units.ts'
import type { SampleLog } from '../people/sample-logs.ts'
import { nightsOf, offsetText, ofType, type TimedLog, timedLog, wallText, zipOf } from './timed-logs.ts'

const states: Readonly<Record<string, string>> = {
  sleep_stage_awake: 'WAKE',
  sleep_stage_rem: 'REM',
  sleep_stage_light: 'NONREM2',
  sleep_stage_deep: 'NONREM3',
}

/** The logs of a person's watch as the JSON files of a Polar account's export. */
export function polarExport(logs: readonly SampleLog[]): { name: string; data: Buffer } {
  const timed = logs.filter(({ deviceType }) => deviceType === 'watch').map(timedLog)
  const beats = byDay(ofType(timed, 'heart_rate')).map(([date, dayLogs]) => ({
    date,
    deviceId: 'sample',
    samples: dayLogs.map(beatOf),
  }))
  const files = [
    ...byDay(ofType(timed, 'steps')).map(([date, dayLogs]) => ({
      name: `activity-${date}`,
      value: { exportVersion: '1.3', date, samples: { mets: [], steps: dayLogs.flatMap(stepMinutes) } },
    })),
    { name: '247ohr_1', value: { deviceDays: beats } },
    { name: 'sleep_result_1', value: nightsOf(timed).map(nightOf) },
    ...ofType(timed, /^exercise_session_/).map((sample) => ({
      name: `training-session_${sample.startMs}`,
      value: sessionOf(sample),
    })),
  ]
  const parts = files.map(({ name, value }) => ({ name: `${name}.json`, data: Buffer.from(JSON.stringify(value)) }))
  return { name: 'polar.zip', data: zipOf(parts) }
}

const byDay = (timed: readonly TimedLog[]) => [
  ...Map.groupBy(timed, (sample) => wallText(sample.startMs, sample).slice(0, 10)),
]

const beatOf = ({ log, startMs, wallShiftMs }: TimedLog) => ({
  heartRate: log.value,
  secondsFromDayStart: ((startMs + wallShiftMs) % DAY) / 1000,
})

/** Whole steps, the earlier minutes with the rest. */
function stepMinutes(sample: TimedLog) {
  const minutes = (sample.endMs - sample.startMs) / MINUTE
  return Array.from({ length: minutes }, (_, index) => ({
    localTime: wallText(sample.startMs + index * MINUTE, sample).slice(11, 19),
    value: Math.floor(sample.log.value / minutes) + (index < sample.log.value % minutes ? 1 : 0),
  }))
}

const nightOf = ({ night, stages }: { readonly night: TimedLog; readonly stages: readonly TimedLog[] }) => ({
  night: wallText(night.endMs, night).slice(0, 10),
  evaluation: { sleepType: 'SLEEP_PLUS_STAGES' },
  sleepResult: {
    hypnogram: {
      sleepStart: offsetText(night.startMs, night),
      sleepEnd: offsetText(night.endMs, night),
      sleepStateChanges: [
        ...stages.map(({ log, startMs }) => ({
          offsetFromStart: `PT${(startMs - night.startMs) / 1000}S`,
          state: states[log.dataType],
        })),
        { offsetFromStart: `PT${(night.endMs - night.startMs) / 1000}S`, state: 'WAKE' },
      ],
    },
  },
})

const sessionOf = (sample: TimedLog) => ({
  identifier: { id: sample.log.id },
  startTime: wallText(sample.startMs, sample),
  stopTime: wallText(sample.endMs, sample),
  timezoneOffsetMinutes: sample.wallShiftMs / MINUTE,
  durationMillis: String(sample.endMs - sample.startMs),
  exercises: [{ sport: sample.log.dataType.replace('exercise_session_', '').toUpperCase() }],
})
