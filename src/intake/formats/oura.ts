import { DAY, MINUTE, SECOND } from '../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow, ReadOptions } from './export-format.ts'
import { formatOfKinds } from './file-kinds.ts'
import type { MeasureName } from './measures.ts'
import { columnsIn, jsonRows, readTableRows, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  dayBetween,
  faultOf,
  fieldsIn,
  instantIn,
  isEmpty,
  lastingRecord,
  later,
  listIn,
  measuredRecord,
  numberIn,
  recordsOfColumns,
  sessionName,
  textIn,
  wallMsIn,
} from './source-values.ts'

const ring = { source: 'Oura', deviceType: 'ring', recordingMethod: 'automatically_recorded' } as const

/** The digits of a hypnogram. */
const phases: Readonly<Record<string, MeasureName>> = {
  1: 'sleep_stage_deep',
  2: 'sleep_stage_light',
  3: 'sleep_stage_rem',
  4: 'sleep_stage_awake',
}

const phaseTexts = [
  ['sleep_phase_30_sec', 30 * SECOND],
  ['sleep_phase_5_min', 5 * MINUTE],
] as const

const NIGHT_VALUES_MAX = 5000

/** A document of the interface, whether it comes from a JSON list or from a line of a table. */
type Document = {
  readonly name: string
  /** The fields that no other document has together. */
  readonly has: readonly string[]
  readonly recordsOf: (row: SourceRow, place: string, options: ReadOptions) => readonly HealthRecord[]
}

/** A cell of a table may hold a document of JSON. */
function nestedIn(value: unknown): SourceRow {
  if (typeof value !== 'string' || !value.startsWith('{')) return fieldsIn(value)
  try {
    return fieldsIn(JSON.parse(value))
  } catch {
    return {}
  }
}

/** A night has its own list of variability, by RMSSD; its means, and the heart rate that another list has, are left out. */
function nightOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [instantIn(row['bedtime_start']), instantIn(row['bedtime_end'])]
  if (!start || !end) return faultOf(place, 'a night without bedtime_start or bedtime_end', row)
  if (row['type'] === 'deleted') return [{ place, leftOut: 'a night that was deleted' }]
  if (row['type'] === 'rest') return [{ place, leftOut: 'a sleep that the person said was none' }]
  const frame: DraftFrame = { ...ring, start, end }
  const id = textIn(row['id'])
  const inBed = lastingRecord(place, 'sleep_stage_in_bed', id === '' ? frame : { ...frame, ownId: id })
  const breath = { from: 'average_breath', to: 'respiratory_rate', unit: 'breath/min' } as const
  const lowest = { from: 'lowest_heart_rate', to: 'resting_heart_rate', unit: 'bpm' } as const
  const atEnd = { ...frame, start: end }
  return [
    inBed,
    ...phasesOf(row, place, frame),
    ...variabilityOf(row, place),
    ...recordsOfColumns([breath], { row, place, frame: { ...frame, aggregation: 'avg' } }),
    ...(row['type'] === 'long_sleep' ? recordsOfColumns([lowest], { row, place, frame: atEnd }) : []),
  ]
}

function phasesOf(row: SourceRow, place: string, frame: DraftFrame): HealthRecord[] {
  const [name, stepMs] = phaseTexts.find(([column]) => !isEmpty(row[column])) ?? []
  if (name === undefined || stepMs === undefined) return []
  const text = textIn(row[name])
  if (text.length > NIGHT_VALUES_MAX || /[^1-4]/.test(text)) return faultOf(place, `${name}: has an unknown phase`, row)
  return [...text.matchAll(/(.)\1*/g)].flatMap(({ 0: run, index }) => {
    const stage = phases[run[0] ?? '']
    const from = later(frame.start, index * stepMs)
    // The last step may reach beyond the night.
    const endMs = Math.min(from.atMs + run.length * stepMs, frame.end.atMs)
    if (!stage || endMs <= from.atMs) return []
    return [lastingRecord(place, stage, { ...frame, start: from, end: { ...from, atMs: endMs } })]
  })
}

function variabilityOf(row: SourceRow, place: string): HealthRecord[] {
  const { interval, items, timestamp } = nestedIn(row['hrv'])
  const [start, stepMs] = [instantIn(timestamp), numberIn(interval) * SECOND]
  if (!start || !(stepMs > 0)) return []
  return listIn(items)
    .slice(0, NIGHT_VALUES_MAX)
    .flatMap((item, index) => {
      const value = numberIn(item)
      if (Number.isNaN(value) || value === 0) return []
      const from = later(start, index * stepMs)
      const span = { start: from, end: later(from, stepMs) }
      const measured = { to: 'heart_rate_variability_rmssd', unit: 'ms', value } as const
      return [measuredRecord(place, measured, { ...ring, ...span, aggregation: 'avg' })]
    })
}

function beatOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const at = instantIn(row['timestamp'])
  const value = numberIn(row['bpm'])
  if (!at || Number.isNaN(value)) return faultOf(place, 'a heart rate without time or number', row)
  return [measuredRecord(place, { to: 'heart_rate', unit: 'bpm', value }, { ...ring, start: at, end: at })]
}

const dayColumns = [
  { from: 'steps', to: 'steps', unit: 'count' },
  { from: 'active_calories', to: 'active_energy_burned', unit: 'kcal' },
  { from: 'total_calories', to: 'total_energy_burned', unit: 'kcal' },
] as const

/** A day of activity runs from four in the morning to four. */
function activeDayOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const start = instantIn(row['timestamp'])
  if (!start) return faultOf(place, 'a day without timestamp', row)
  const frame: DraftFrame = { ...ring, start, end: later(start, DAY), periodicity: 'daily', aggregation: 'sum' }
  return recordsOfColumns(dayColumns, { row, place, frame })
}

function saturationOf(row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] {
  const dayMs = wallMsIn(row['day'])
  const { average } = nestedIn(row['spo2_percentage'])
  if (dayMs === undefined) return faultOf(place, 'a day without a date', row)
  if (isEmpty(average) || average === 0) return [{ place, leftOut: 'a day without saturation' }]
  const at = dayBetween(localInstant(dayMs), localInstant(dayMs + DAY - SECOND))
  const frame: DraftFrame = { ...ring, ...at, periodicity: 'daily', aggregation: 'avg' }
  return [measuredRecord(place, { to: 'oxygen_saturation', unit: 'percent', value: numberIn(average) }, frame)]
}

function workoutOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [instantIn(row['start_datetime']), instantIn(row['end_datetime'])]
  if (!start || !end) return faultOf(place, 'a workout without start_datetime or end_datetime', row)
  const id = textIn(row['id'])
  const recordingMethod = row['source'] === 'manual' ? 'manual_entry' : 'actively_recorded'
  const frame: DraftFrame = { ...ring, recordingMethod, start, end, ...(id === '' ? {} : { ownId: id }) }
  return [lastingRecord(place, sessionName(row['activity']), frame)]
}

function fitnessOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const at = instantIn(row['timestamp'])
  if (!at) return faultOf(place, 'a VO2 max without timestamp', row)
  const column = { from: 'vo2_max', to: 'vo2_max', unit: 'mL/kg/min' } as const
  return recordsOfColumns([column], { row, place, frame: { ...ring, start: at, end: at } })
}

const documents: readonly Document[] = [
  { name: 'sleep', has: ['bedtime_start', 'bedtime_end', 'time_in_bed'], recordsOf: nightOf },
  { name: 'heartrate', has: ['bpm', 'source', 'timestamp'], recordsOf: beatOf },
  { name: 'daily_activity', has: ['steps', 'equivalent_walking_distance'], recordsOf: activeDayOf },
  { name: 'daily_spo2', has: ['spo2_percentage', 'day'], recordsOf: saturationOf },
  { name: 'workout', has: ['start_datetime', 'end_datetime', 'intensity'], recordsOf: workoutOf },
  { name: 'vo2_max', has: ['vo2_max', 'timestamp'], recordsOf: fitnessOf },
]

/** A list may hold documents that are no measurements: scores, readiness, tags. */
function recordsOf(row: SourceRow, place: string, options: ReadOptions): readonly HealthRecord[] {
  const document = documents.find(({ has }) => has.every((field) => row[field] !== undefined))
  return document ? document.recordsOf(row, place, options) : [{ place, leftOut: 'a document with nothing for us' }]
}

/** `{"data": […]}` of one document, or `{"sleep": […], "heartrate": […]}` of several. */
const listsIn = (value: unknown): readonly unknown[] | undefined => {
  const lists = Object.values(fieldsIn(value)).filter(Array.isArray)
  return lists.length > 0 && !Array.isArray(value) ? lists.flat() : undefined
}

/** The beginning may end within a document, so one field that nobody else writes does beside the list around it. */
const isDocumentList = ({ text }: FileHead): boolean =>
  /^\s*\{\s*"[a-z0-9_]+"\s*:\s*\[\s*\{/.test(text) &&
  (/"(bedtime_start|spo2_percentage|equivalent_walking_distance|vo2_max)"\s*:/.test(text) ||
    (/"bpm"\s*:/.test(text) && /"source"\s*:\s*"(awake|rest|sleep|session|live|workout)"/.test(text)) ||
    (/"start_datetime"\s*:/.test(text) && /"intensity"\s*:/.test(text)))

const isDocumentTable = (head: FileHead): boolean => {
  const columns = columnsIn(head)
  return documents.some(({ has }) => has.every((field) => columns.has(field)))
}

const mapping: readonly MappingRow[] = [
  { from: 'sleep, the night', to: 'sleep_stage_in_bed', units: 'from bedtime_start to bedtime_end' },
  ...Object.entries(phases).map(([digit, to]) => ({
    from: `sleep, phase ${digit}`,
    to,
    units: 'steps of 30 seconds, else of 5 minutes',
  })),
  { from: 'sleep, hrv', to: 'heart_rate_variability_rmssd', units: 'ms', note: '0 and null are no measurement' },
  { from: 'sleep, average_breath', to: 'respiratory_rate', units: 'breath/min', note: 'one a night' },
  { from: 'sleep, lowest_heart_rate', to: 'resting_heart_rate', units: 'bpm', note: 'of the long sleep of a day' },
  { from: 'heartrate, bpm', to: 'heart_rate', units: 'bpm' },
  ...dayColumns.map(({ from, to, unit }) => ({
    from: `daily_activity, ${from}`,
    to,
    units: unit,
    note: 'a day from four in the morning to four',
  })),
  { from: 'daily_spo2, average', to: 'oxygen_saturation', units: 'percent', note: 'of a local day; 0 is none' },
  { from: 'workout', to: 'exercise_session_<activity>', units: 'from start to end' },
  { from: 'vo2_max', to: 'vo2_max', units: 'mL/kg/min' },
  { from: 'sleep of type deleted or rest', note: 'the person said that it was none' },
  { from: 'sleep, heart_rate', note: 'heartrate has the same night' },
  { from: 'sleep, average_hrv and the durations', note: 'means and sums of the lists beside them' },
  { from: 'scores, readiness, resilience, tags', note: 'no measurements' },
]

/** Oura: the documents of its second interface as JSON, and the tables of the export of an account, which have the same fields. */
export const oura = formatOfKinds(
  {
    name: 'oura',
    title: 'Oura',
    vendor: 'oura',
    files: 'the zip of the account’s export (CSV), or JSON as its second interface answers',
    checked: 'files of our own writer; its fields against the documentation of its interface',
    mapping,
  },
  [
    { recognises: isDocumentList, rows: jsonRows(listsIn), recordsOf },
    { recognises: isDocumentTable, rows: readTableRows, recordsOf },
  ],
)
