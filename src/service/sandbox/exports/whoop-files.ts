import { formatOffset } from '../../../base/time/instant.ts'
import { MINUTE } from '../../../base/time/units.ts'
import {
  exerciseOf,
  minutesOf,
  nightsOf,
  ofType,
  sessionsOf,
  stageSeconds,
  type TimedLog,
  tableText,
  wallSeconds,
  type ZipPart,
} from './timed-logs.ts'

const cycleNames = ['Cycle start time', 'Cycle end time', 'Cycle timezone']
const sleepNames = [
  ...['Sleep onset', 'Wake onset', 'Sleep performance %', 'Respiratory rate (rpm)', 'Asleep duration (min)'],
  ...['In bed duration (min)', 'Light sleep duration (min)', 'Deep (SWS) duration (min)', 'REM duration (min)'],
  'Awake duration (min)',
]
const recoveryNames = [
  ...['Recovery score %', 'Resting heart rate (bpm)', 'Heart rate variability (ms)', 'Skin temp (celsius)'],
  ...['Blood oxygen %', 'Day Strain', 'Energy burned (cal)', 'Max HR (bpm)', 'Average HR (bpm)'],
]
const workoutNames = ['Workout start time', 'Workout end time', 'Duration (min)', 'Activity name', 'Activity Strain']

/** The logs of a person's watch as WHOOP exports them: cycles from sleep to sleep, in local time with an offset. */
export function whoopFiles(timed: readonly TimedLog[]): ZipPart[] {
  const nights = nightsOf(timed)
  const rows = nights.map(({ night, stages }, index) => {
    const next = nights[index + 1]?.night
    const cycle = [wallSeconds(night.startMs, night), next ? wallSeconds(next.startMs, night) : '', zoneOf(night)]
    return { cycle, sleep: sleepCells(night, stages), recovery: recoveryCells(timed, night), night }
  })
  const cycles = rows
    .filter(({ recovery }) => recovery.length > 0)
    .map(({ cycle, recovery, sleep }) => [...cycle, ...recovery, ...sleep])
  const sleeps = rows.map(({ cycle, sleep, recovery }) => [...cycle, ...sleep, recovery.length > 0 ? 'false' : 'true'])
  const workouts = sessionsOf(timed).map((sample) => {
    const span = [wallSeconds(sample.startMs, sample), wallSeconds(sample.endMs, sample), minutesOf(sample)]
    const cycleStart = nights.findLast(({ night }) => night.startMs <= sample.startMs)?.night ?? sample
    return [wallSeconds(cycleStart.startMs, sample), '', zoneOf(sample), ...span, activityName(sample), 10]
  })
  return [
    { name: 'physiological_cycles.csv', data: tableText([...cycleNames, ...recoveryNames, ...sleepNames], cycles) },
    { name: 'sleeps.csv', data: tableText([...cycleNames, ...sleepNames, 'Nap'], sleeps) },
    { name: 'workouts.csv', data: tableText([...cycleNames, ...workoutNames], workouts) },
  ]
}

const zoneOf = ({ wallShiftMs }: TimedLog) => `UTC${formatOffset(wallShiftMs / MINUTE)}`

/** `exercise_session_strength_training` is `Strength Training`. */
const activityName = (sample: TimedLog) =>
  exerciseOf(sample)
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join(' ')

function sleepCells(night: TimedLog, stages: readonly TimedLog[]) {
  const [light = 0, deep = 0, rem = 0, awake = 0] = ['light', 'deep', 'rem', 'awake'].map(
    (stage) => stageSeconds(stages, stage) / 60,
  )
  const times = [wallSeconds(night.startMs, night), wallSeconds(night.endMs, night)]
  return [...times, 90, 14.5, light + deep + rem, minutesOf(night), light, deep, rem, awake]
}

/** None of a nap. */
function recoveryCells(timed: readonly TimedLog[], night: TimedLog) {
  const resting = ofType(timed, 'resting_heart_rate').find(({ startMs }) => startMs === night.endMs)
  if (!resting) return []
  const variability = ofType(timed, 'heart_rate_variability_rmssd').filter(
    ({ startMs }) => startMs >= night.startMs && startMs < night.endMs,
  )
  const mean = variability.reduce((sum, { log }) => sum + log.value, 0) / Math.max(1, variability.length)
  return [60, resting.log.value, variability.length > 0 ? Math.round(mean) : '', 33.5, 96.5, 10, 2400, 160, 70]
}
