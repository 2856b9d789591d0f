import { DAY, HOUR, MINUTE, SECOND } from '../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow, ReadOptions } from './export-format.ts'
import { formatOfKinds } from './file-kinds.ts'
import type { MeasureName } from './measures.ts'
import { jsonRows, readJsonList, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  dayBetween,
  faultOf,
  fieldsIn,
  instantAt,
  instantIn,
  isEmpty,
  lastingRecord,
  later,
  listIn,
  measuredRecord,
  numberIn,
  sessionName,
  textIn,
  wallMsIn,
} from './source-values.ts'

const watch = { source: 'Polar', deviceType: 'watch', recordingMethod: 'automatically_recorded' } as const

const states: Readonly<Record<string, MeasureName>> = {
  WAKE: 'sleep_stage_awake',
  REM: 'sleep_stage_rem',
  NONREM1: 'sleep_stage_light',
  NONREM2: 'sleep_stage_light',
  NONREM3: 'sleep_stage_deep',
  UNKNOWN: 'sleep_stage_unknown',
}
const STATES_MAX = 5000

const isoDuration = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?$/

/** `PT1H30M5S` in milliseconds. */
function durationIn(value: unknown): number {
  const match = isoDuration.exec(textIn(value))
  if (!match) return Number.NaN
  const [hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0))
  return hours * HOUR + minutes * MINUTE + seconds * SECOND
}

/** The samples of a day, each with the day: a file has one day of steps, or many of heart rates. */
const samplesIn = (value: unknown): readonly unknown[] | undefined => {
  const { date, samples } = fieldsIn(value)
  const { steps } = fieldsIn(samples)
  return samples === undefined ? undefined : listIn(steps).map((step) => ({ ...fieldsIn(step), date }))
}
const beatsIn = (value: unknown): readonly unknown[] | undefined => {
  const { deviceDays } = fieldsIn(value)
  if (!Array.isArray(deviceDays)) return undefined
  return deviceDays
    .map(fieldsIn)
    .flatMap(({ date, samples }) => listIn(samples).map((one) => ({ ...fieldsIn(one), date })))
}

function stepsOf(row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] {
  const wallMs = wallMsIn(`${textIn(row['date'])}T${textIn(row['localTime'])}`)
  const value = numberIn(row['value'])
  if (wallMs === undefined || Number.isNaN(value)) return faultOf(place, 'a minute without time or number', row)
  if (value === 0) return [{ place, leftOut: 'no steps, as minutes have in which it was not worn' }]
  const start = localInstant(wallMs)
  return [measuredRecord(place, { to: 'steps', unit: 'count', value }, { ...watch, start, end: later(start, MINUTE) })]
}

function beatOf(row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] {
  const dayMs = wallMsIn(row['date'])
  const [seconds, value] = [numberIn(row['secondsFromDayStart']), numberIn(row['heartRate'])]
  if (dayMs === undefined || !(seconds >= 0) || Number.isNaN(value))
    return faultOf(place, 'a heart rate without time or number', row)
  const at = localInstant(dayMs + seconds * SECOND)
  return [measuredRecord(place, { to: 'heart_rate', unit: 'bpm', value }, { ...watch, start: at, end: at })]
}

/** A state lasts until the next; a last one may lie beyond the night, and marks its end. */
function nightOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const hypnogram = fieldsIn(fieldsIn(row['sleepResult'])['hypnogram'])
  const [start, end] = [instantIn(hypnogram['sleepStart']), instantIn(hypnogram['sleepEnd'])]
  if (!start || !end) return faultOf(place, 'a night without sleepStart or sleepEnd', {})
  const frame: DraftFrame = { ...watch, start, end }
  const lengthMs = end.atMs - start.atMs
  const changes = listIn(hypnogram['sleepStateChanges'])
    .slice(0, STATES_MAX)
    .map((one) => ({
      fromMs: durationIn(fieldsIn(one)['offsetFromStart']),
      stage: states[textIn(fieldsIn(one)['state'])],
    }))
  const inBed = lastingRecord(place, 'sleep_stage_in_bed', frame)
  if (changes.some(({ fromMs, stage }) => Number.isNaN(fromMs) || stage === undefined))
    return [inBed, ...faultOf(place, 'a state of sleep that is not known, or its time', {})]
  const stages = changes.flatMap(({ fromMs, stage }, index) => {
    const untilMs = Math.min(changes[index + 1]?.fromMs ?? lengthMs, lengthMs)
    if (!stage || untilMs <= fromMs) return []
    return [lastingRecord(place, stage, { ...frame, start: later(start, fromMs), end: later(start, untilMs) })]
  })
  return [inBed, ...stages]
}

/** Times are of the clock on the wall; older files have no offset beside them. */
function sessionOf(row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] {
  const [startMs, stopMs] = [wallMsIn(row['startTime']), wallMsIn(row['stopTime'])]
  if (startMs === undefined || stopMs === undefined)
    return faultOf(place, 'a session without startTime or stopTime', {})
  const offset = row['timezoneOffsetMinutes'] ?? row['timeZoneOffset']
  const start = isEmpty(offset) ? localInstant(startMs) : instantAt(startMs, numberIn(offset))
  if (!start || Number.isNaN(start.atMs) || Math.abs(start.offsetMinutes) > 14 * 60)
    return faultOf(place, 'a session whose offset is none', {})
  const id = textIn(fieldsIn(row['identifier'])['id'])
  const sport = fieldsIn(listIn(row['exercises'])[0])['sport']
  const own = id === '' ? {} : { ownId: id }
  const frame: DraftFrame = {
    ...watch,
    recordingMethod: 'actively_recorded',
    start,
    end: later(start, stopMs - startMs),
    ...own,
  }
  return [lastingRecord(place, sessionName(textIn(sport).toLowerCase()), frame)]
}

/** The file holds the day of a night, not its time. */
function recoveryOf(row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] {
  const dayMs = wallMsIn(row['night'])
  if (dayMs === undefined) return faultOf(place, 'a night without a date', {})
  if (isEmpty(row['meanNightlyRecoveryRmssd'])) return [{ place, leftOut: 'a night without variability' }]
  const value = numberIn(row['meanNightlyRecoveryRmssd'])
  const span = dayBetween(localInstant(dayMs), localInstant(dayMs + DAY - SECOND))
  const frame: DraftFrame = { ...watch, ...span, periodicity: 'daily', aggregation: 'avg' }
  return [measuredRecord(place, { to: 'heart_rate_variability_rmssd', unit: 'ms', value }, frame)]
}

const isDay = ({ text }: FileHead) =>
  /^\s*\{/.test(text) && /"localTime"\s*:/.test(text) && /"(mets|steps)"\s*:\s*\[/.test(text)
const isBeats = ({ text }: FileHead) => /^\s*\{\s*"deviceDays"\s*:\s*\[/.test(text)
const isNights = ({ text }: FileHead) =>
  /^\s*\[/.test(text) && /"night"\s*:/.test(text) && /"(sleepResult|evaluation)"\s*:/.test(text)
const isRecovery = ({ text }: FileHead) => /^\s*\[/.test(text) && /"meanNightlyRecovery\w+"\s*:/.test(text)
const isSession = ({ text }: FileHead) =>
  /^\s*\{/.test(text) && /"startTime"\s*:/.test(text) && /"stopTime"\s*:/.test(text)

const mapping: readonly MappingRow[] = [
  {
    from: 'activity-DATE, samples.steps',
    to: 'steps',
    units: 'count a minute, local',
    note: 'minutes of 0 are left out',
  },
  { from: '247ohr, heartRate', to: 'heart_rate', units: 'bpm, local' },
  { from: 'sleep_result, the night', to: 'sleep_stage_in_bed', units: 'from sleepStart to sleepEnd' },
  ...Object.entries(states).map(([state, to]) => ({
    from: `sleep_result, ${state}`,
    to,
    units: 'until the next state',
  })),
  {
    from: 'nightly_recovery, meanNightlyRecoveryRmssd',
    to: 'heart_rate_variability_rmssd',
    units: 'ms of a local day',
  },
  { from: 'training-session', to: 'exercise_session_<sport>', units: 'local, with an offset where it is written' },
  { from: 'training-session without a name of its sport', to: 'exercise_session_other', units: 'local' },
  { from: 'activity-DATE, summary', note: 'sums of its samples' },
  { from: 'the samples of a training-session', note: '247ohr has the heart rate of the day' },
  { from: 'sleep_score, the scores of nightly_recovery', note: 'no measurements' },
  { from: 'nightly_recovery_blob', note: 'its samples name no night' },
  { from: 'ppi_samples', note: 'intervals of single beats' },
]

/** Polar Flow: the JSON files of an account's export. */
export const polar = formatOfKinds(
  {
    name: 'polar',
    title: 'Polar Flow',
    vendor: 'polar',
    files: 'the zip of an account’s export',
    checked: 'files of our own writer; its fields against descriptions that others published',
    mapping,
  },
  [
    { recognises: isDay, rows: jsonRows(samplesIn), recordsOf: stepsOf },
    { recognises: isBeats, rows: jsonRows(beatsIn), recordsOf: beatOf },
    { recognises: isNights, rows: readJsonList, recordsOf: nightOf },
    { recognises: isRecovery, rows: readJsonList, recordsOf: recoveryOf },
    { recognises: isSession, rows: jsonRows((value) => [value]), recordsOf: sessionOf },
  ],
)
