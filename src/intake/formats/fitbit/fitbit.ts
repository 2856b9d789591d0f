import { DAY, MINUTE, SECOND } from '../../../base/time/units.ts'
import type { HealthRecord, MappingRow } from '../export-format.ts'
import { type FileKind, formatOfKinds } from '../file-kinds.ts'
import { readJsonList, readTableRows, type SourceRow } from '../small-files.ts'
import { dayBetween, faultOf, fieldsIn, instantIn, numberIn, utc, wallClockMs, wallMsIn } from '../source-values.ts'
import { fitbitDevice, fitbitLevels, sleepRecords } from './fitbit-sleep.ts'

const isList = /^\s*\[\s*\{/
const shortDate = /^(\d\d)\/(\d\d)\/(\d\d) (\d\d):(\d\d):(\d\d)$/

/** `01/31/24 08:00:05`, as the milliseconds of a clock that shows it in UTC. */
function shortDateMs(text: unknown): number | undefined {
  const match = typeof text === 'string' ? shortDate.exec(text) : null
  if (!match) return undefined
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number)
  return wallClockMs({ year: 2000 + year, month, day, hour, minute, second })
}

type Told = {
  readonly atMs: number | undefined
  readonly value: unknown
  readonly place: string
  readonly row: SourceRow
}

function minuteOfSteps({ atMs, value, place, row }: Told): readonly HealthRecord[] {
  const steps = numberIn(value)
  if (atMs === undefined || Number.isNaN(steps)) return faultOf(place, 'a minute without time or number', row)
  if (steps === 0) return [{ place, leftOut: 'no steps, as minutes have in which it was not worn' }]
  const span = { start: utc(atMs), end: utc(atMs + MINUTE) }
  return [{ place, draft: { dataType: 'steps', value: steps, ...span, ...fitbitDevice } }]
}

function beat({ atMs, value, place, row }: Told): readonly HealthRecord[] {
  const bpm = numberIn(value)
  if (atMs === undefined || Number.isNaN(bpm)) return faultOf(place, 'a heart rate without time or number', row)
  const span = { start: utc(atMs), end: utc(atMs) }
  return [{ place, draft: { dataType: 'heart_rate', value: bpm, ...span, ...fitbitDevice } }]
}

const utcIn = (text: unknown) => instantIn(text)?.atMs

const byMinute: FileKind = {
  recognises: ({ name, text }) => /(^|\/)steps-\d{4}-\d\d-\d\d\.json$/.test(name) && isList.test(text),
  rows: readJsonList,
  recordsOf: (row, place) => minuteOfSteps({ atMs: shortDateMs(row['dateTime']), value: row['value'], place, row }),
}

const byBeat: FileKind = {
  recognises: ({ name, text }) => /(^|\/)heart_rate-/.test(name) && isList.test(text) && /"bpm"/.test(text),
  rows: readJsonList,
  recordsOf(row, place) {
    const { bpm, confidence } = fieldsIn(row['value'])
    if (confidence === 0) return [{ place, leftOut: 'a heart rate of confidence 0' }]
    return beat({ atMs: shortDateMs(row['dateTime']), value: bpm, place, row })
  },
}

const restingByDay: FileKind = {
  recognises: ({ name, text }) => /(^|\/)resting_heart_rate-/.test(name) && isList.test(text),
  rows: readJsonList,
  recordsOf(row, place, { localInstant }) {
    const { value } = fieldsIn(row['value'])
    const dayMs = shortDateMs(row['dateTime'])
    const bpm = numberIn(value)
    if (dayMs === undefined || Number.isNaN(bpm)) return faultOf(place, 'a day without date or number', row)
    if (bpm === 0) return [{ place, leftOut: 'a day without a resting heart rate' }]
    const span = dayBetween(localInstant(dayMs), localInstant(dayMs + DAY - SECOND))
    return [{ place, draft: { dataType: 'resting_heart_rate', value: bpm, ...span, ...fitbitDevice } }]
  },
}

const nights: FileKind = {
  recognises: ({ text }) => isList.test(text) && /"dateOfSleep"/.test(text) && /"logId"/.test(text),
  rows: readJsonList,
  recordsOf: sleepRecords,
}

const variability: FileKind = {
  recognises: ({ text }) => /^\uFEFF?timestamp,rmssd,coverage,/.test(text),
  rows: readTableRows,
  recordsOf(row, place, { localInstant }) {
    const wallMs = wallMsIn(row['timestamp'])
    const value = numberIn(row['rmssd'])
    if (wallMs === undefined || Number.isNaN(value)) return faultOf(place, 'five minutes without time or number', row)
    const span = { start: localInstant(wallMs), end: localInstant(wallMs) }
    return [{ place, draft: { dataType: 'heart_rate_variability_rmssd', value, ...span, ...fitbitDevice } }]
  },
}

/** Fitbit writes 50 for a minute in which it could not measure. */
const NO_SATURATION = 50

const saturation: FileKind = {
  recognises: ({ name, text }) => /Minute SpO2/i.test(name) && /^\uFEFF?timestamp,value\s/.test(text),
  rows: readTableRows,
  recordsOf(row, place) {
    const atMs = utcIn(row['timestamp'])
    const value = numberIn(row['value'])
    if (atMs === undefined || Number.isNaN(value)) return faultOf(place, 'a minute without time or number', row)
    if (value === NO_SATURATION) return [{ place, leftOut: 'a minute that could not be measured (50)' }]
    const span = { start: utc(atMs), end: utc(atMs) }
    return [{ place, draft: { dataType: 'oxygen_saturation', value, ...span, ...fitbitDevice } }]
  },
}

const newerSteps: FileKind = {
  recognises: ({ text }) => /^\uFEFF?timestamp,steps(,|\s)/.test(text),
  rows: readTableRows,
  recordsOf: (row, place) => minuteOfSteps({ atMs: utcIn(row['timestamp']), value: row['steps'], place, row }),
}

const newerBeats: FileKind = {
  recognises: ({ text }) => /^\uFEFF?timestamp,beats per minute(,|\s)/.test(text),
  rows: readTableRows,
  recordsOf: (row, place) => beat({ atMs: utcIn(row['timestamp']), value: row['beats per minute'], place, row }),
}

const kinds: readonly FileKind[] = [
  byMinute,
  byBeat,
  restingByDay,
  nights,
  variability,
  saturation,
  newerSteps,
  newerBeats,
]

const fitbitMapping: readonly MappingRow[] = [
  {
    from: 'steps-DATE.json',
    to: 'steps',
    units: 'count a minute, UTC',
    note: 'minutes of 0 are left out: minutes in which it was not worn have them too',
  },
  { from: 'heart_rate-DATE.json', to: 'heart_rate', units: 'bpm, UTC', note: 'confidence 0 is left out' },
  {
    from: 'resting_heart_rate-DATE.json',
    to: 'resting_heart_rate',
    units: 'bpm of a local day',
    note: 'a day of 0 has none',
  },
  { from: 'sleep-DATE.json, the night', to: 'sleep_stage_in_bed', units: 'from start to end, local' },
  ...Object.entries(fitbitLevels).map(([level, to]) => ({
    from: `sleep-DATE.json, level ${level}`,
    to,
    units: 'seconds, local',
    note: level === 'wake' ? 'short wakes cut the level around them' : '',
  })),
  { from: 'Heart Rate Variability Details CSV', to: 'heart_rate_variability_rmssd', units: 'ms, local' },
  { from: 'Minute SpO2 CSV', to: 'oxygen_saturation', units: 'percent, UTC', note: '50 stands for not measured' },
  {
    from: 'steps_DATE.csv (newer)',
    to: 'steps',
    units: 'count a minute, UTC',
    note: 'the same minute in JSON is the same log',
  },
  { from: 'heart_rate_DATE.csv (newer)', to: 'heart_rate', units: 'bpm, UTC' },
  { from: 'Daily Heart Rate Variability Summary', note: 'means of the details' },
  {
    from: 'sedentary, lightly, moderately and very active minutes',
    note: 'days’ sums; 1,440 sedentary minutes mean not worn',
  },
  { from: 'calories-DATE.json', note: 'an estimate goes on while it is not worn' },
  { from: 'weight-N.json', note: 'its unit, pounds or kilograms, is not written' },
  { from: 'exercise-N.json', note: 'the zone of its times is not documented' },
]

/**
 * Fitbit by Google Takeout: JSON files of a month or a day, and the newer CSV files. Steps and heart rate are written in UTC,
 * sleep and variability by the clock on the wall, without a zone.
 */
export const fitbit = formatOfKinds(
  {
    name: 'fitbit',
    title: 'Fitbit (Google Takeout)',
    vendor: 'fitbit',
    files: 'the zip of Takeout, or its folder Fitbit',
    checked: 'files of our own writer only',
    mapping: fitbitMapping,
  },
  kinds,
)
