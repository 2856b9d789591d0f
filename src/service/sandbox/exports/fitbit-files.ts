import { MINUTE, SECOND } from '../../../base/time/units.ts'
import {
  byExercise,
  byStage,
  jsonPart,
  minutesOf,
  nightsOf,
  offsetText,
  ofType,
  sessionsOf,
  stepMinutes,
  type TimedLog,
  tableText,
  wallText,
  type ZipPart,
} from './timed-logs.ts'

const levels = byStage({ awake: 'wake', light: 'light', deep: 'deep', rem: 'rem' })

/** Fitbit lists wakes of up to three minutes beside the levels, which continue over them. */
const SHORT_WAKE_MS = 3 * MINUTE
const CONFIDENT = 3
const FOLDER = 'Takeout/Fitbit'

/** The logs of a person's watch as Google Takeout exports them for Fitbit: steps and heart rate in UTC, the rest in local time. */
export function fitbitFiles(timed: readonly TimedLog[]): ZipPart[] {
  const first = new Date(timed[0]?.startMs ?? 0).toISOString().slice(0, 10)
  const jsonFiles = Object.entries(listsOf(timed)).map(([name, list]) =>
    jsonPart(`${FOLDER}/Global Export Data/${name}-${first}.json`, list),
  )
  const tableFiles = Object.entries(tablesOf(timed)).map(([name, data]) => ({
    name: `${FOLDER}/${name}${first}.csv`,
    data,
  }))
  return [...jsonFiles, ...tableFiles]
}

const exercises = byExercise({
  running: 'Outdoor Run',
  cycling: 'Outdoor Bike',
  swimming: 'Swim',
  strength_training: 'Weights',
  yoga: 'Yoga',
})

const utcText = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`
const offsetOf = (timed: TimedLog): string => offsetText(timed.startMs, timed).slice(-6)

const listsOf = (timed: readonly TimedLog[]) => ({
  steps: ofType(timed, 'steps')
    .flatMap(stepMinutes)
    .map(({ atMs, steps }) => ({ dateTime: shortDate(atMs), value: String(steps) })),
  heart_rate: ofType(timed, 'heart_rate').map(({ startMs, log }) => ({
    dateTime: shortDate(startMs),
    value: { bpm: log.value, confidence: CONFIDENT },
  })),
  resting_heart_rate: ofType(timed, 'resting_heart_rate').map(restingDay),
  sleep: ofType(timed, 'sleep_stage_in_bed').map((night, index) => sleepOf(night, timed, index)),
})

/** Since 2025 there are nights and stages once more, in UTC with an offset, and the steps of workouts by the second. */
function tablesOf(timed: readonly TimedLog[]) {
  const nights = nightsOf(timed)
  const sessions = sessionsOf(timed)
  return {
    'Heart Rate Variability/Heart Rate Variability Details - ': tableText(
      ['timestamp', 'rmssd', 'coverage', 'low_frequency', 'high_frequency'],
      ofType(timed, 'heart_rate_variability_rmssd').map((sample) => [
        wallText(sample.startMs, sample).slice(0, 19),
        sample.log.value,
        0.9,
        1,
        1,
      ]),
    ),
    'Oxygen Saturation (SpO2)/Minute SpO2 - ': tableText(
      ['timestamp', 'value'],
      ofType(timed, 'oxygen_saturation').map(({ startMs, log }) => [
        utcText(startMs),
        Number((log.value * 100).toFixed(1)),
      ]),
    ),
    'Health Fitness Data_GoogleData/UserSleeps_': tableText(
      [
        ...['sleep_id', 'sleep_type', 'minutes_asleep'],
        ...['start_utc_offset', 'sleep_start', 'end_utc_offset', 'sleep_end', 'data_source'],
      ],
      nights.map(({ night, stages }, index) => [
        ...[9000 + index, 'STAGES', Math.round(stages.reduce((sum, sample) => sum + minutesOf(sample), 0))],
        ...[offsetOf(night), utcText(night.startMs), offsetOf(night), utcText(night.endMs), 'DERIVED'],
      ]),
    ),
    'Health Fitness Data_GoogleData/UserSleepStages_': tableText(
      [
        ...['sleep_id', 'sleep_stage_id', 'sleep_stage_type'],
        ...['start_utc_offset', 'sleep_stage_start', 'end_utc_offset', 'sleep_stage_end'],
      ],
      nights.flatMap(({ night, stages }, index) =>
        stages.map((sample, at) => [
          ...[9000 + index, at, levels[sample.log.dataType]?.toUpperCase()],
          ...[offsetOf(night), utcText(sample.startMs), offsetOf(night), utcText(sample.endMs)],
        ]),
      ),
    ),
    'Health Fitness Data_GoogleData/UserExercises_': tableText(
      ['exercise_id', 'exercise_start', 'exercise_end', 'utc_offset', 'activity_name', 'log_type'],
      sessions.map((sample, index) => [
        ...[7000 + index, utcText(sample.startMs), utcText(sample.endMs), offsetOf(sample)],
        ...[exercises[sample.log.dataType] ?? 'Sport', 'AUTO_DETECTED'],
      ]),
    ),
    'Physical Activity_GoogleData/live_pace_': tableText(
      ['timestamp', 'steps', 'distance millimeters', 'altitude gain millimeters', 'data source'],
      sessions.flatMap(({ startMs }) =>
        Array.from({ length: 60 }, (_, second) => [utcText(startMs + second * SECOND), 2, 1500, 0, 'Charge 6']),
      ),
    ),
  }
}

/** `01/31/24 08:00:05` */
function shortDate(atMs: number): string {
  const text = new Date(atMs).toISOString()
  return `${text.slice(5, 7)}/${text.slice(8, 10)}/${text.slice(2, 4)} ${text.slice(11, 19)}`
}

function restingDay(sample: TimedLog) {
  const day = shortDate(sample.startMs + sample.wallShiftMs).slice(0, 8)
  return { dateTime: `${day} 00:00:00`, value: { date: day, value: sample.log.value, error: 5 } }
}

function sleepOf(night: TimedLog, timed: readonly TimedLog[], index: number) {
  const stages = timed.filter(({ log }) => log.parentId === night.log.id)
  const level = ({ log, startMs, endMs }: TimedLog) => ({
    dateTime: wallText(startMs, night),
    level: levels[log.dataType],
    seconds: (endMs - startMs) / SECOND,
  })
  const isShort = ({ log, startMs, endMs }: TimedLog, at: number) =>
    at > 0 && log.dataType === 'sleep_stage_awake' && endMs - startMs <= SHORT_WAKE_MS
  const data: TimedLog[] = []
  for (const [at, sample] of stages.entries()) {
    const last = data.at(-1)
    if (last && isShort(sample, at)) data[data.length - 1] = { ...last, endMs: sample.endMs }
    else data.push(sample)
  }
  return {
    logId: 1000 + index,
    dateOfSleep: wallText(night.endMs, night).slice(0, 10),
    startTime: wallText(night.startMs, night),
    endTime: wallText(night.endMs, night),
    type: 'stages',
    levels: { data: data.map(level), shortData: stages.filter(isShort).map(level) },
  }
}
