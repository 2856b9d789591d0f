import { MINUTE, SECOND } from '../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow, ReadOptions } from './export-format.ts'
import { formatOfKinds } from './file-kinds.ts'
import { jsonRows, readJsonList, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  dayBetween,
  faultOf,
  fieldsIn,
  instantAt,
  isEmpty,
  lastingRecord,
  later,
  listIn,
  type MeasureColumn,
  numberIn,
  recordsOfColumns,
  sessionName,
  stagesEndToEnd,
  textIn,
  utc,
  wallMsIn,
} from './source-values.ts'

const watch = { source: 'Garmin', deviceType: 'watch', recordingMethod: 'automatically_recorded' } as const

const stageFields = [
  ['awakeSleepSeconds', 'sleep_stage_awake'],
  ['lightSleepSeconds', 'sleep_stage_light'],
  ['deepSleepSeconds', 'sleep_stage_deep'],
  ['remSleepSeconds', 'sleep_stage_rem'],
] as const
const breath: MeasureColumn = { from: 'averageRespiration', to: 'respiratory_rate', unit: 'breath/min' }

/** Times named GMT are written without an offset. */
const gmtIn = (value: unknown) => {
  const atMs = typeof value === 'number' ? value : wallMsIn(value)
  return atMs === undefined ? undefined : utc(atMs)
}

function nightOf(row: SourceRow, place: string): readonly HealthRecord[] {
  if (isEmpty(row['sleepStartTimestampGMT'])) return [{ place, leftOut: 'a day without a night' }]
  const [start, end] = [gmtIn(row['sleepStartTimestampGMT']), gmtIn(row['sleepEndTimestampGMT'])]
  if (!start || !end) return faultOf(place, 'a night without its start or its end', row)
  const frame: DraftFrame = { ...watch, start, end }
  const minutes = stageFields.map(([name, stage]) => [stage, numberIn(row[name]) / 60] as const)
  return [
    lastingRecord(place, 'sleep_stage_in_bed', frame),
    ...stagesEndToEnd(place, minutes, frame),
    ...recordsOfColumns([breath], { row, place, frame: { ...frame, aggregation: 'avg' } }),
  ]
}

const sumColumns: readonly MeasureColumn[] = [
  { from: 'totalSteps', to: 'steps', unit: 'count' },
  { from: 'activeKilocalories', to: 'active_energy_burned', unit: 'kcal' },
  { from: 'totalKilocalories', to: 'total_energy_burned', unit: 'kcal' },
]
const resting: MeasureColumn = { from: 'restingHeartRate', to: 'resting_heart_rate', unit: 'bpm' }

/** A day in both clocks: the difference is the offset. */
function dayOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [gmtMs, localMs] = [wallMsIn(row['wellnessStartTimeGmt']), wallMsIn(row['wellnessStartTimeLocal'])]
  const lengthMs = numberIn(row['durationInMilliseconds'])
  if (isEmpty(row['wellnessStartTimeGmt'])) return [{ place, leftOut: 'a day without measurements' }]
  const offsetMinutes = gmtMs === undefined || localMs === undefined ? undefined : (localMs - gmtMs) / MINUTE
  const start = instantAt(localMs, offsetMinutes)
  if (!start || !(lengthMs > 0))
    return faultOf(place, 'a day without its start in both clocks, or without a length', row)
  const frame: DraftFrame = {
    ...watch,
    ...dayBetween(start, later(start, lengthMs - SECOND)),
    periodicity: 'daily',
  }
  return [
    ...recordsOfColumns(sumColumns, { row, place, frame: { ...frame, aggregation: 'sum' } }),
    ...recordsOfColumns([resting], { row, place, frame }),
  ]
}

/** The instants are milliseconds of UTC, and of a clock on the wall beside it. */
function activityOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [atMs, localMs] = [numberIn(row['beginTimestamp']), numberIn(row['startTimeLocal'])]
  const lengthMs = numberIn(isEmpty(row['elapsedDuration']) ? row['duration'] : row['elapsedDuration'])
  if (Number.isNaN(atMs) || !(lengthMs >= 0)) return faultOf(place, 'an activity without its start or its length', row)
  const offsetMinutes = Number.isNaN(localMs) ? 0 : Math.round((localMs - atMs) / MINUTE)
  const start = { atMs, offsetMinutes: Math.abs(offsetMinutes) <= 14 * 60 ? offsetMinutes : 0 }
  const id = isEmpty(row['activityId']) ? {} : { ownId: String(row['activityId']) }
  const frame: DraftFrame = {
    ...watch,
    recordingMethod: 'actively_recorded',
    start,
    end: later(start, lengthMs),
    ...id,
  }
  return [lastingRecord(place, sessionName(row['activityType']), frame)]
}

const bodyColumns: readonly MeasureColumn[] = [
  { from: 'weight', to: 'weight', unit: 'g' },
  { from: 'bodyFat', to: 'body_fat', unit: 'percent' },
  { from: 'boneMass', to: 'bone_mass', unit: 'g' },
]

/** A weight is in grams within a nested object. */
function bodyOf(row: SourceRow, place: string, _options: ReadOptions): readonly HealthRecord[] {
  const weight = fieldsIn(row['weight'])
  if (isEmpty(weight['weight'])) return [{ place, leftOut: 'biometrics without a weight' }]
  const at = gmtIn(weight['timestampGMT'])
  if (!at) return faultOf(place, 'a weight without its time', row)
  const recordingMethod = /^MFP|MANUAL$/.test(textIn(weight['sourceType'])) ? 'manual_entry' : 'automatically_recorded'
  const frame: DraftFrame = { ...watch, deviceType: 'scale', recordingMethod, start: at, end: at }
  return recordsOfColumns(bodyColumns, { row: weight, place, frame })
}

const isListWith =
  (...fields: readonly string[]) =>
  ({ text }: FileHead): boolean =>
    /^\s*\[\s*\{/.test(text) && fields.every((field) => text.includes(`"${field}"`))

const activitiesIn = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? value.flatMap((part) => listIn(fieldsIn(part)['summarizedActivitiesExport'])) : undefined

const mapping: readonly MappingRow[] = [
  { from: 'sleepData, the night', to: 'sleep_stage_in_bed', units: 'GMT' },
  ...stageFields.map(([from, to]) => ({
    from: `sleepData, ${from}`,
    to,
    units: 'seconds',
    note: 'laid end to end: the export tells how long, not when',
  })),
  { from: `sleepData, ${breath.from}`, to: breath.to, units: breath.unit, note: 'one a night' },
  ...[...sumColumns, resting].map(({ from, to, unit }) => ({
    from: `UDSFile, ${from}`,
    to,
    units: `${unit} of a local day`,
  })),
  { from: 'summarizedActivities', to: 'exercise_session_<type>', units: 'from start to end' },
  ...bodyColumns.map(({ from, to, unit }) => ({ from: `userBioMetrics, weight.${from}`, to, units: unit })),
  { from: 'sums and means of an activity', note: 'the day has its steps and its energy' },
  { from: 'distances, floors in metres, stress, body battery', note: 'nothing is derived from them' },
  { from: 'scores and plans', note: 'no measurements' },
]

/** The JSON files of a Garmin account's export. Its FIT files are in zips within it. */
export const garminConnect = formatOfKinds(
  {
    name: 'garmin-connect',
    title: 'Garmin Connect',
    vendor: 'garmin',
    files: 'the zip of an account’s export, with the zips of FIT files in it',
    checked: 'files of our own writer; its fields against programs that others published',
    mapping,
  },
  [
    { recognises: isListWith('sleepStartTimestampGMT', 'calendarDate'), rows: readJsonList, recordsOf: nightOf },
    { recognises: isListWith('wellnessStartTimeGmt'), rows: readJsonList, recordsOf: dayOf },
    { recognises: isListWith('totalKilocalories', 'durationInMilliseconds'), rows: readJsonList, recordsOf: dayOf },
    { recognises: isListWith('summarizedActivitiesExport'), rows: jsonRows(activitiesIn), recordsOf: activityOf },
    { recognises: isListWith('metaData', 'weight', 'sourceType'), rows: readJsonList, recordsOf: bodyOf },
  ],
)
