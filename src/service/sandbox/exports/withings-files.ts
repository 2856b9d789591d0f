import { HOUR } from '../../../base/time/units.ts'
import {
  byStage,
  exerciseOf,
  minutesOf,
  nightsOf,
  offsetText,
  ofType,
  secondsOf,
  sessionsOf,
  stageSeconds,
  type TimedLog,
  tableText,
  wallSeconds,
  type ZipPart,
} from './timed-logs.ts'

const states = byStage({ awake: 0, light: 1, deep: 2, rem: 3 })

const WEIGHT_ALONE = ['', '', '', '', ''] // no fat, bones, muscles, water or comment

/** The logs of a person's watch and scale as Withings exports them: the scale in local time, the watch with its offset. */
export function withingsFiles(timed: readonly TimedLog[]): ZipPart[] {
  const watch = timed.filter(({ log }) => log.deviceType === 'watch')
  const nights = nightsOf(watch)
  const files = {
    weight: tableText(
      ['Date', 'Weight (kg)', 'Fat mass (kg)', 'Bone mass (kg)', 'Muscle mass (kg)', 'Hydration (kg)', 'Comments'],
      ofType(timed, 'weight').map((sample) => [wallSeconds(sample.startMs, sample), sample.log.value, ...WEIGHT_ALONE]),
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
    raw_tracker_steps: slicesAlone(ofType(watch, 'steps')),
    raw_hr_hr: slicesAlone(ofType(watch, 'heart_rate')),
    activities: tableText(
      ['from', 'to', 'from (manual)', 'to (manual)', 'Timezone', 'Activity type', 'Data'],
      sessionsOf(watch).map((sample) => [
        ...[offsetText(sample.startMs, sample), offsetText(sample.endMs, sample), '', '', zoneOf(sample)],
        exerciseOf(sample),
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

const slicesAlone = (timed: readonly TimedLog[]) =>
  slices(
    timed.map((sample) => [sample]),
    ({ log }) => log.value,
  )

function dailySums(steps: readonly TimedLog[]) {
  const sums = new Map<string, number>()
  for (const step of steps) {
    const day = wallSeconds(step.startMs, step).slice(0, 10)
    sums.set(day, (sums.get(day) ?? 0) + step.log.value)
  }
  return [...sums]
}
