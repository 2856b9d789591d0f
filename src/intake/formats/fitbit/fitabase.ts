import { HOUR, MINUTE } from '../../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow, ReadOptions } from '../export-format.ts'
import { type FileKind, formatOfKinds } from '../file-kinds.ts'
import type { MeasureName } from '../measures.ts'
import { columnsIn, readTableRows, type SourceRow } from '../small-files.ts'
import {
  type DraftFrame,
  faultOf,
  lastingRecord,
  later,
  measuredRecord,
  numberIn,
  recordsOfColumns,
  textIn,
  wallClockMs,
} from '../source-values.ts'
import { fitbitDevice } from './fitbit-sleep.ts'

const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4}) (\d{1,2}):(\d\d):(\d\d) (AM|PM)$/

/** `4/12/2016 7:21:00 AM`, as the milliseconds of a clock that shows it in UTC. */
function americanMs(value: unknown): number | undefined {
  const match = american.exec(textIn(value).trim())
  if (!match) return undefined
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number)
  if (hour < 1 || hour > 12) return undefined
  // Twelve is the first hour of its half of the day.
  return wallClockMs({ year, month, day, hour: (hour % 12) + (match[7] === 'PM' ? 12 : 0), minute, second })
}

/** The person of the first row. A file of a study holds many people, and an import is of one. */
const firstPerson = ({ text }: FileHead): string => text.split(/\r?\n/)[1]?.split(',')[0]?.trim() ?? ''

type Timed = { readonly row: SourceRow; readonly place: string; readonly frame: DraftFrame }

/** A kind of table: its columns, which of them is the time, and how long a row lasts. */
const tableOf = (
  columns: readonly string[],
  lengthMs: number,
  recordsOf: (timed: Timed) => readonly HealthRecord[],
): FileKind => ({
  recognises: (head) => {
    const named = columnsIn(head)
    return named.has('Id') && columns.every((column) => named.has(column))
  },
  rows: readTableRows,
  recordsOf(row, place, { head, localInstant }: ReadOptions) {
    if (textIn(row['Id']).trim() !== firstPerson(head))
      return faultOf(place, 'another person than that of the first row', {})
    const wallMs = americanMs(row[columns[0] ?? ''])
    if (wallMs === undefined) return faultOf(place, `${columns[0]}: is no date-time`, row)
    const start = localInstant(wallMs)
    return recordsOf({ row, place, frame: { ...fitbitDevice, start, end: later(start, lengthMs) } })
  },
})

const countOf =
  (column: string) =>
  ({ row, place, frame }: Timed): readonly HealthRecord[] => {
    const value = numberIn(row[column])
    if (value === 0) return [{ place, leftOut: 'no steps, as times have in which it was not worn' }]
    return [measuredRecord(place, { to: 'steps', unit: 'count', value }, frame)]
  }

const stages: ReadonlyMap<number, MeasureName> = new Map([
  [1, 'sleep_stage_sleeping'],
  [2, 'sleep_stage_awake'],
  [3, 'sleep_stage_awake'],
])

const weightColumns = [
  { from: 'WeightKg', to: 'weight', unit: 'kg' },
  { from: 'Fat', to: 'body_fat', unit: 'percent' },
  { from: 'BMI', to: 'body_mass_index', unit: 'count' },
] as const

const kinds: readonly FileKind[] = [
  tableOf(['ActivityMinute', 'Steps'], MINUTE, countOf('Steps')),
  tableOf(['ActivityHour', 'StepTotal'], HOUR, ({ row, place, frame }) =>
    countOf('StepTotal')({ row, place, frame: { ...frame, periodicity: 'hourly', aggregation: 'sum' } }),
  ),
  tableOf(['Time', 'Value'], 0, ({ row, place, frame }) =>
    recordsOfColumns([{ from: 'Value', to: 'heart_rate', unit: 'bpm' }], { row, place, frame }),
  ),
  tableOf(['date', 'value', 'logId'], MINUTE, ({ row, place, frame }) => {
    const stage = stages.get(numberIn(row['value']))
    return stage ? [lastingRecord(place, stage, frame)] : faultOf(place, 'value: is no state of sleep', row)
  }),
  tableOf(['Date', 'WeightKg', 'IsManualReport'], 0, ({ row, place, frame }) => {
    const recordingMethod =
      textIn(row['IsManualReport']).toLowerCase() === 'true' ? 'manual_entry' : frame.recordingMethod
    return recordsOfColumns(weightColumns, { row, place, frame: { ...frame, deviceType: 'scale', recordingMethod } })
  }),
]

const mapping: readonly MappingRow[] = [
  { from: 'minuteStepsNarrow, Steps', to: 'steps', units: 'count a minute, local', note: 'minutes of 0 are left out' },
  { from: 'hourlySteps, StepTotal', to: 'steps', units: 'count an hour, local', note: 'told as hourly, below minutes' },
  { from: 'heartrate_seconds, Value', to: 'heart_rate', units: 'bpm, local' },
  ...[...stages].map(([number, to]) => ({ from: `minuteSleep, ${number}`, to, units: 'a minute, local' })),
  ...weightColumns.map(({ from, to, unit }) => ({ from: `weightLogInfo, ${from}`, to, units: `${unit}, local` })),
  { from: 'rows of another Id than the first', note: 'an import is of one person: they are rejected' },
  { from: 'wide tables', note: 'the narrow ones have the same minutes' },
  { from: 'dailyActivity, sleepDay', note: 'sums of the minutes' },
  { from: 'calories, intensities, METs', note: 'estimates that go on while it is not worn' },
]

/** Fitabase: tables of Fitbit's data for studies, by the clock on the wall, written the American way. */
export const fitabase = formatOfKinds(
  {
    name: 'fitabase',
    title: 'Fitabase',
    vendor: 'fitbit',
    files: 'its CSV files, of one person',
    checked: 'files of our own writer; its columns against a study that was published',
    mapping,
  },
  kinds,
)
