import { SECOND } from '../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow, ReadOptions } from './export-format.ts'
import { type FileKind, formatOfKinds } from './file-kinds.ts'
import type { MeasureName } from './measures.ts'
import { columnsIn, readTableRows, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  faultOf,
  instantIn,
  lastingRecord,
  later,
  type MeasureColumn,
  measuredRecord,
  numberIn,
  recordsOfColumns,
  sessionName,
  wallMsIn,
} from './source-values.ts'

const scale = { source: 'Withings', deviceType: 'scale', recordingMethod: 'actively_recorded' } as const
const cuff = { ...scale, deviceType: 'blood_pressure_monitor' } as const
const tracker = { source: 'Withings', deviceType: 'watch', recordingMethod: 'automatically_recorded' } as const

/** The columns name the unit that the account is set to. */
const inEachUnit = (name: string, to: MeasureName, units: readonly string[]): MeasureColumn[] =>
  units.map((unit) => ({ from: `${name} (${unit})`, to, unit }))
const masses = ['kg', 'lb', 'st']

const weightColumns = [
  ...inEachUnit('Weight', 'weight', masses),
  ...inEachUnit('Bone mass', 'bone_mass', masses),
  ...inEachUnit('Hydration', 'body_water_mass', masses),
]
const heightColumns = inEachUnit('Height', 'height', ['m', 'cm'])
const pressureColumns: readonly MeasureColumn[] = [
  { from: 'Systolic', to: 'blood_pressure_systolic', unit: 'mmHg' },
  { from: 'Diastolic', to: 'blood_pressure_diastolic', unit: 'mmHg' },
  { from: 'Heart rate', to: 'heart_rate', unit: 'bpm' },
]

/** The measurements of a moment, by the clock on the wall. */
const measurementsOf =
  (columns: readonly MeasureColumn[], device: typeof scale | typeof cuff) =>
  (row: SourceRow, place: string, { localInstant }: ReadOptions): readonly HealthRecord[] => {
    const wallMs = wallMsIn(row['Date'])
    if (wallMs === undefined) return faultOf(place, 'Date: is no date-time', row)
    const at = localInstant(wallMs)
    return recordsOfColumns(columns, { row, place, frame: { ...device, start: at, end: at } })
  }

const LIST_MAX = 5000
const listOf = (value: unknown): number[] | undefined => {
  const match = /^\s*\[([\d\s.,-]*)\]\s*$/.exec(String(value))
  const numbers = match?.[1]?.split(',').map(numberIn)
  return numbers && numbers.length <= LIST_MAX && !numbers.some(Number.isNaN) ? numbers : undefined
}

type Slice = { readonly value: number; readonly frame: DraftFrame }

/** `2022-01-06T12:50:26+01:00,"[60,60]","[13,5]"`: values one after the other, each as long as the seconds beside it. */
const slicesOf =
  (recordOf: (place: string, slice: Slice) => HealthRecord) =>
  (row: SourceRow, place: string): readonly HealthRecord[] => {
    const [start, seconds, values] = [instantIn(row['start']), listOf(row['duration']), listOf(row['value'])]
    if (!start || !seconds || !values || seconds.length !== values.length)
      return faultOf(place, 'a row whose start, durations or values do not fit', row)
    let from = start
    return values.map((value, index) => {
      const end = later(from, (seconds[index] ?? 0) * SECOND)
      const record = recordOf(place, { value, frame: { ...tracker, start: from, end } })
      from = end
      return record
    })
  }

/** For a measure that is a sum: an empty slice is no record. */
const amountsOf = (to: MeasureName, unit: string) =>
  slicesOf((place, { value, frame }) =>
    value === 0 ? { place, leftOut: 'a slice with nothing in it' } : measuredRecord(place, { to, unit, value }, frame),
  )
const samplesOf = (to: MeasureName, unit: string) =>
  slicesOf((place, { value, frame }) => measuredRecord(place, { to, unit, value }, { ...frame, end: frame.start }))

const stages: readonly MeasureName[] = ['sleep_stage_awake', 'sleep_stage_light', 'sleep_stage_deep', 'sleep_stage_rem']
const stagesOf = slicesOf((place, { value, frame }) => {
  const stage = stages[value]
  return stage ? lastingRecord(place, stage, frame) : { place, fault: 'value: is no stage of sleep', text: '' }
})

/** The raw files, by the end of their names: their columns are the same. */
const rawFiles = [
  { file: 'raw_tracker_steps', to: 'steps', unit: 'count', recordsOf: amountsOf('steps', 'count') },
  {
    file: 'raw_tracker_calories-earned',
    to: 'active_energy_burned',
    unit: 'kcal',
    recordsOf: amountsOf('active_energy_burned', 'kcal'),
  },
  { file: 'raw_hr_hr', to: 'heart_rate', unit: 'bpm', recordsOf: samplesOf('heart_rate', 'bpm') },
  { file: 'raw_tracker_hr', to: 'heart_rate', unit: 'bpm', recordsOf: samplesOf('heart_rate', 'bpm') },
  {
    file: 'raw_spo2_auto_spo2',
    to: 'oxygen_saturation',
    unit: 'percent',
    recordsOf: samplesOf('oxygen_saturation', 'percent'),
  },
] as const

function nightOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [instantIn(row['from']), instantIn(row['to'])]
  if (!start || !end) return faultOf(place, 'from or to: is no date-time with an offset', row)
  return [lastingRecord(place, 'sleep_stage_in_bed', { ...tracker, start, end })]
}

function activityOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [instantIn(row['from']), instantIn(row['to'])]
  if (!start || !end) return faultOf(place, 'from or to: is no date-time with an offset', row)
  return [lastingRecord(place, sessionName(row['Activity type']), { ...tracker, start, end })]
}

const hasColumns =
  (...columns: readonly string[]) =>
  (head: FileHead): boolean => {
    const named = columnsIn(head)
    return columns.every((column) => named.has(column))
  }
const isRaw = hasColumns('start', 'duration', 'value')
const rawKind = (file: string, recordsOf: FileKind['recordsOf']): FileKind => ({
  // Every raw file has these columns: only the name says what the values are.
  recognises: (head) => isRaw(head) && new RegExp(`(^|/)${file}(_\\d+)?\\.csv$`).test(head.name),
  rows: readTableRows,
  recordsOf,
})
const tableKind = (recognises: FileKind['recognises'], recordsOf: FileKind['recordsOf']): FileKind => ({
  recognises,
  rows: readTableRows,
  recordsOf,
})
const hasOneOf = (columns: readonly MeasureColumn[]) => (head: FileHead) => {
  const named = columnsIn(head)
  return named.has('Date') && columns.some(({ from }) => named.has(from))
}

const mapping: readonly MappingRow[] = [
  ...weightColumns.map(({ from, to, unit }) => ({ from: `weight.csv, ${from}`, to, units: `${unit}, local` })),
  ...heightColumns.map(({ from, to, unit }) => ({ from: `height.csv, ${from}`, to, units: `${unit}, local` })),
  ...pressureColumns.map(({ from, to, unit }) => ({ from: `bp.csv, ${from}`, to, units: `${unit}, local` })),
  ...rawFiles.map(({ file, to, unit }) => ({ from: `${file}.csv`, to, units: unit })),
  { from: 'sleep.csv', to: 'sleep_stage_in_bed', units: 'from start to end' },
  ...stages.map((to, value) => ({ from: `raw_tracker_sleep-state.csv, ${value}`, to, units: 'seconds' })),
  { from: 'activities.csv', to: 'exercise_session_<type>', units: 'from start to end' },
  { from: 'aggregates_….csv', note: 'days’ sums of the raw files' },
  { from: 'the stages and heart rates of sleep.csv', note: 'sums and means of the raw files' },
  { from: 'Fat mass, Muscle mass', note: 'nothing is derived from them' },
  { from: 'a height in feet and inches', note: 'is written as a text' },
]

/** Withings: measurements by the clock on the wall, raw files and nights with their offset. */
export const withings = formatOfKinds(
  {
    name: 'withings',
    title: 'Withings',
    vendor: 'withings',
    files: 'the zip of its export',
    checked: 'files of our own writer; its columns against exports that others published',
    mapping,
  },
  [
    tableKind(hasOneOf(weightColumns), measurementsOf(weightColumns, scale)),
    tableKind(hasOneOf(heightColumns), measurementsOf(heightColumns, scale)),
    tableKind(hasColumns('Date', 'Systolic', 'Diastolic'), measurementsOf(pressureColumns, cuff)),
    tableKind(hasColumns('from', 'to', 'light (s)', 'deep (s)'), nightOf),
    tableKind(hasColumns('from', 'to', 'Activity type'), activityOf),
    ...rawFiles.map(({ file, recordsOf }) => rawKind(file, recordsOf)),
    rawKind('raw_tracker_sleep-state', stagesOf),
  ],
)
