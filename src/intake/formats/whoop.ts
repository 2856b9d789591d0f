import type { HealthRecord, MappingRow } from './export-format.ts'
import { type FileKind, formatOfKinds } from './file-kinds.ts'
import { columnsIn, readTableRows, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  faultOf,
  instantAt,
  isEmpty,
  lastingRecord,
  type MeasureColumn,
  numberIn,
  offsetMinutesIn,
  recordsOfColumns,
  sessionName,
  stagesEndToEnd,
  wallMsIn,
} from './source-values.ts'

const band = { source: 'WHOOP', deviceType: 'fitness_band', recordingMethod: 'automatically_recorded' } as const

/** Measured in the night that a cycle begins with. Variability is by RMSSD. */
const cycleColumns: readonly MeasureColumn[] = [
  { from: 'Resting heart rate (bpm)', to: 'resting_heart_rate', unit: 'bpm' },
  { from: 'Heart rate variability (ms)', to: 'heart_rate_variability_rmssd', unit: 'ms' },
  { from: 'Skin temp (celsius)', to: 'sleeping_wrist_temperature', unit: 'degC' },
  { from: 'Blood oxygen %', to: 'oxygen_saturation', unit: 'percent' },
]

const breathColumn: MeasureColumn = { from: 'Respiratory rate (rpm)', to: 'respiratory_rate', unit: 'breath/min' }

const stageColumns = [
  ['Awake duration (min)', 'sleep_stage_awake'],
  ['Light sleep duration (min)', 'sleep_stage_light'],
  ['Deep (SWS) duration (min)', 'sleep_stage_deep'],
  ['REM duration (min)', 'sleep_stage_rem'],
] as const

/** A time of the clock on the wall, in the offset of the cycle. */
const timeIn = (row: SourceRow, name: string) => instantAt(wallMsIn(row[name]), offsetMinutesIn(row['Cycle timezone']))

/** A cycle runs from sleep to sleep, not from midnight to midnight: its measures belong to the day of waking up. */
function cycleOf(row: SourceRow, place: string): readonly HealthRecord[] {
  if (isEmpty(row['Wake onset'])) return [{ place, leftOut: 'a cycle without sleep' }]
  const woke = timeIn(row, 'Wake onset')
  if (!woke) return faultOf(place, 'Wake onset or Cycle timezone: is none', row)
  return recordsOfColumns(cycleColumns, { row, place, frame: { ...band, start: woke, end: woke } })
}

function sleepOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [timeIn(row, 'Sleep onset'), timeIn(row, 'Wake onset')]
  if (!start || !end) return faultOf(place, 'Sleep onset, Wake onset or Cycle timezone: is none', row)
  const frame: DraftFrame = { ...band, start, end }
  const minutes = stageColumns.map(([name, stage]) => [stage, numberIn(row[name])] as const)
  return [
    lastingRecord(place, 'sleep_stage_in_bed', frame),
    ...stagesEndToEnd(place, minutes, frame),
    ...recordsOfColumns([breathColumn], { row, place, frame: { ...frame, aggregation: 'avg' } }),
  ]
}

function workoutOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [timeIn(row, 'Workout start time'), timeIn(row, 'Workout end time')]
  if (!start || !end) return faultOf(place, 'Workout start time, its end or Cycle timezone: is none', row)
  return [lastingRecord(place, sessionName(row['Activity name']), { ...band, start, end })]
}

const tableOf = (columns: readonly string[], recordsOf: FileKind['recordsOf']): FileKind => ({
  recognises: (head) => {
    const named = columnsIn(head)
    return columns.every((column) => named.has(column))
  },
  rows: readTableRows,
  recordsOf,
})

const mapping: readonly MappingRow[] = [
  ...cycleColumns.map(({ from, to, unit }) => ({
    from: `physiological_cycles.csv, ${from}`,
    to,
    units: unit,
    note: 'at waking up',
  })),
  { from: 'sleeps.csv, a sleep', to: 'sleep_stage_in_bed', units: 'from onset to wake onset' },
  ...stageColumns.map(([from, to]) => ({
    from: `sleeps.csv, ${from}`,
    to,
    units: 'minutes',
    note: 'laid end to end: the export tells how long, not when',
  })),
  { from: `sleeps.csv, ${breathColumn.from}`, to: breathColumn.to, units: breathColumn.unit, note: 'one a sleep' },
  { from: 'workouts.csv', to: 'exercise_session_<activity>', units: 'from start to end' },
  {
    from: 'Energy burned (cal), Max HR, Average HR',
    note: 'sums and means of a cycle or a workout: no local day has them',
  },
  { from: 'the sleep columns of physiological_cycles.csv', note: 'sleeps.csv has the same sleep' },
  { from: 'scores, strain, journal_entries.csv', note: 'no measurements' },
]

/** WHOOP, with the English names of its columns. */
export const whoop = formatOfKinds(
  {
    name: 'whoop',
    title: 'WHOOP',
    vendor: 'whoop',
    files: 'the zip of its export, in English',
    checked: 'files of our own writer; its columns against exports that others published',
    mapping,
  },
  [
    tableOf(['Workout start time', 'Workout end time', 'Activity name'], workoutOf),
    tableOf(['Sleep onset', 'Wake onset', 'Nap'], sleepOf),
    tableOf(['Cycle start time', 'Recovery score %', 'Wake onset'], cycleOf),
  ],
)
