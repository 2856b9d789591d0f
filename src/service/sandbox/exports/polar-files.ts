import { DAY, MINUTE } from '../../../base/time/units.ts'
import {
  byStage,
  exerciseOf,
  jsonPart,
  nightsOf,
  offsetText,
  ofType,
  sessionsOf,
  stepMinutes,
  type TimedLog,
  wallText,
  type ZipPart,
} from './timed-logs.ts'

const states = byStage({ awake: 'WAKE', rem: 'REM', light: 'NONREM2', deep: 'NONREM3' })

/** The logs of a person's watch as the JSON files of a Polar account's export. */
export function polarFiles(timed: readonly TimedLog[]): ZipPart[] {
  const beats = byDay(ofType(timed, 'heart_rate')).map(([date, dayLogs]) => ({
    date,
    deviceId: 'sample',
    samples: dayLogs.map(beatOf),
  }))
  return [
    ...byDay(ofType(timed, 'steps')).map(([date, dayLogs]) =>
      jsonPart(`activity-${date}.json`, {
        exportVersion: '1.3',
        date,
        samples: { mets: [], steps: dayLogs.flatMap(stepsOf) },
      }),
    ),
    jsonPart('247ohr_1.json', { deviceDays: beats }),
    jsonPart('sleep_result_1.json', nightsOf(timed).map(nightOf)),
    ...sessionsOf(timed).map((sample) => jsonPart(`training-session_${sample.startMs}.json`, sessionOf(sample))),
  ]
}

const byDay = (timed: readonly TimedLog[]) => [
  ...Map.groupBy(timed, (sample) => wallText(sample.startMs, sample).slice(0, 10)),
]

const beatOf = ({ log, startMs, wallShiftMs }: TimedLog) => ({
  heartRate: log.value,
  secondsFromDayStart: ((startMs + wallShiftMs) % DAY) / 1000,
})

const stepsOf = (sample: TimedLog) =>
  stepMinutes(sample).map(({ atMs, steps }) => ({ localTime: wallText(atMs, sample).slice(11, 19), value: steps }))

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
  exercises: [{ sport: exerciseOf(sample).toUpperCase() }],
})
