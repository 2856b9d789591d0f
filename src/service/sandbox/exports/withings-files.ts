import { HOUR } from '../../../base/time/units.ts'
import {
  minutesOf,
  nightsOf,
  offsetText,
  ofType,
  secondsOf,
  stageSeconds,
  type TimedLog,
  tableText,
  wallSeconds,
  type ZipPart,
} from './timed-logs.ts'

const states: Readonly<Record<string, number>> = {
  sleep_stage_awake: 0,
  sleep_stage_light: 1,
  sleep_stage_deep: 2,
  sleep_stage_rem: 3,
}

/** The logs of a person's watch and scale as Withings exports them: the scale in local time, the watch with its offset. */
export function withingsFiles(timed: readonly TimedLog[]): ZipPart[] {
  const watch = timed.filter(({ log }) => log.deviceType === 'watch')
  const nights = nightsOf(watch)
  const files = {
    weight: tableText(
      ['Date', 'Weight (kg)', 'Fat mass (kg)', 'Bone mass (kg)', 'Muscle mass (kg)', 'Hydration (kg)', 'Comments'],
      ofType(timed, 'weight').map((sample) => [
        wallSeconds(sample.startMs, sample),
        sample.log.value,
        '',
        '',
        '',
        '',
        '',
      ]),
    ),
    sleep: tableText(
      ['from', 'to', 'light (s)', 'deep (s)', 'rem (s)', 'awake (s)', 'wake up'],
      nights.map(({ night, stages }) => [
        offsetText(night.startMs, night),
        offsetText(night.endMs, night),
        ...['light', 'deep', 'rem', 'awake'].map((stage) => stageSeconds(stages, stage)),
        1,
      ]),
    ),
    'raw_tracker_sleep-state': slices(
      nights.map(({ stages }) => stages),
      ({ log }) => states[log.dataType] ?? 0,
    ),
    raw_tracker_steps: slices(
      ofType(watch, 'steps').map((sample) => [sample]),
      ({ log }) => log.value,
    ),
    raw_hr_hr: slices(
      ofType(watch, 'heart_rate').map((sample) => [sample]),
      ({ log }) => log.value,
    ),
    activities: tableText(
      ['from', 'to', 'from (manual)', 'to (manual)', 'Timezone', 'Activity type', 'Data'],
      ofType(watch, /^exercise_session_/).map((sample) => [
        ...[offsetText(sample.startMs, sample), offsetText(sample.endMs, sample), '', '', zoneOf(sample)],
        sample.log.dataType.replace('exercise_session_', ''),
        JSON.stringify({ calories: Math.round(minutesOf(sample) * 6) }),
      ]),
    ),
    aggregates_steps: tableText(['date', 'value'], dailySums(ofType(watch, 'steps'))),
  }
  return Object.entries(files).map(([name, data]) => ({ name: `${name}.csv`, data }))
}

/** The signs of these zones are turned round: `Etc/GMT-1` is an hour ahead. */
const zoneOf = ({ wallShiftMs }: TimedLog): string => {
  const hours = Math.round(wallShiftMs / HOUR)
  return `Etc/GMT${hours > 0 ? '-' : '+'}${Math.abs(hours)}`
}

/** A row for each run of logs that follow one another. */
const slices = (runs: ReadonlyArray<readonly TimedLog[]>, numberOf: (sample: TimedLog) => number) =>
  tableText(
    ['start', 'duration', 'value'],
    runs.flatMap((run) => {
      const [first] = run
      if (!first) return []
      const [seconds, values] = [run.map((sample) => secondsOf(sample) || 60), run.map(numberOf)]
      return [[offsetText(first.startMs, first), JSON.stringify(seconds), JSON.stringify(values)]]
    }),
  )

function dailySums(steps: readonly TimedLog[]) {
  const sums = new Map<string, number>()
  for (const step of steps) {
    const day = wallSeconds(step.startMs, step).slice(0, 10)
    sums.set(day, (sums.get(day) ?? 0) + step.log.value)
  }
  return [...sums]
}
