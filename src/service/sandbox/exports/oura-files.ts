import { DAY, HOUR, MINUTE, SECOND } from '../../../base/time/units.ts'
import {
  byStage,
  exerciseOf,
  nightsOf,
  offsetText,
  ofType,
  secondsOf,
  sessionsOf,
  type TimedLog,
  tableText,
  type ZipPart,
} from './timed-logs.ts'

const digits = byStage({ deep: '1', light: '2', rem: '3', awake: '4' })
const STEP_MS = 30 * SECOND
const VARIABILITY_SECONDS = 5 * 60
/** Oura's day of activity begins at four in the morning. */
const DAY_STARTS_MS = 4 * HOUR

/** The logs of a person's watch as the export of an Oura account: tables whose fields are those of its interface. */
export function ouraFiles(timed: readonly TimedLog[]): ZipPart[] {
  const sheets = {
    sleepmodel: tableText(sleepColumns, sleepRows(timed), ';'),
    heartrate: tableText(
      ['timestamp', 'bpm', 'source'],
      ofType(timed, 'heart_rate').map((sample) => [offsetText(sample.startMs, sample), sample.log.value, 'awake']),
      ';',
    ),
    dailyactivity: tableText(
      ['id', 'day', 'timestamp', 'steps', 'equivalent_walking_distance'],
      activeDays(timed).map(({ day, at, steps }) => [`activity-${day}`, day, at, steps, Math.round(steps * 0.7)]),
      ';',
    ),
    workout: tableText(
      ['id', 'activity', 'day', 'start_datetime', 'end_datetime', 'intensity', 'source'],
      sessionsOf(timed).map((sample) => {
        const [start, end] = [offsetText(sample.startMs, sample), offsetText(sample.endMs, sample)]
        const activity = exerciseOf(sample)
        return [sample.log.id, activity, start.slice(0, 10), start, end, 'moderate', 'confirmed']
      }),
      ';',
    ),
  }
  return Object.entries(sheets).map(([name, data]) => ({ name: `App Data/${name}.csv`, data }))
}

const sleepColumns = [
  ...['id', 'day', 'type', 'bedtime_start', 'bedtime_end', 'time_in_bed'],
  ...['average_breath', 'lowest_heart_rate', 'hrv', 'sleep_phase_30_sec'],
]

function sleepRows(timed: readonly TimedLog[]) {
  const resting = ofType(timed, 'resting_heart_rate')
  return nightsOf(timed).map(({ night, stages }) => {
    const lowest = resting.find(({ startMs }) => startMs === night.endMs)
    const [start, end] = [offsetText(night.startMs, night), offsetText(night.endMs, night)]
    const type = lowest ? 'long_sleep' : 'late_nap'
    const hypnogram = stages
      .map((sample) => digits[sample.log.dataType]?.repeat((sample.endMs - sample.startMs) / STEP_MS) ?? '')
      .join('')
    const cells = [night.log.id, end.slice(0, 10), type, start, end, secondsOf(night)]
    return [...cells, 14.5, lowest?.log.value, JSON.stringify(variabilityOf(timed, night)), hypnogram]
  })
}

/** Means of five minutes from the start of the night on; null where nothing was measured. */
function variabilityOf(timed: readonly TimedLog[], night: TimedLog) {
  const measured = ofType(timed, 'heart_rate_variability_rmssd').filter(
    ({ startMs }) => startMs >= night.startMs && startMs < night.endMs,
  )
  const slots = Math.ceil((night.endMs - night.startMs) / (VARIABILITY_SECONDS * SECOND))
  const items = Array.from({ length: slots }, (_, slot) => {
    const at = night.startMs + slot * VARIABILITY_SECONDS * SECOND
    return measured.find(({ startMs }) => startMs >= at && startMs < at + 5 * MINUTE)?.log.value ?? null
  })
  return { interval: VARIABILITY_SECONDS, items, timestamp: offsetText(night.startMs, night) }
}

function activeDays(timed: readonly TimedLog[]) {
  const days = new Map<string, { day: string; at: string; steps: number }>()
  for (const sample of ofType(timed, 'steps')) {
    const startMs = Math.floor((sample.startMs + sample.wallShiftMs - DAY_STARTS_MS) / DAY) * DAY + DAY_STARTS_MS
    const at = offsetText(startMs - sample.wallShiftMs, sample)
    const day = days.get(at.slice(0, 10)) ?? { day: at.slice(0, 10), at, steps: 0 }
    day.steps += sample.log.value
    days.set(day.day, day)
  }
  return [...days.values()]
}
