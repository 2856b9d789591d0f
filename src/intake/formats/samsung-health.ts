import { MINUTE } from '../../base/time/units.ts'
import type { FileHead, HealthRecord, MappingRow } from './export-format.ts'
import { type FileKind, formatOfKinds } from './file-kinds.ts'
import type { MeasureName, SessionName } from './measures.ts'
import { type SourceRow, tableRows } from './small-files.ts'
import {
  type DraftFrame,
  faultOf,
  isEmpty,
  lastingRecord,
  type MeasureColumn,
  numberIn,
  offsetMinutesIn,
  recordsOfColumns,
  textIn,
  wallMsIn,
} from './source-values.ts'

/** A table is named in the line before its columns, and its columns by their last word. */
type Measured = { readonly table: RegExp; readonly name: string; readonly columns: readonly MeasureColumn[] }

const one = (name: string, from: string, to: MeasureName, unit: string): Measured => ({
  table: new RegExp(`^com\\.samsung\\.s?health\\.${name.replaceAll('.', '\\.')},`),
  name,
  columns: [{ from, to, unit }],
})

const steps = one('tracker.pedometer_step_count', 'count', 'steps', 'count')
const measured: readonly Measured[] = [
  one('tracker.heart_rate', 'heart_rate', 'heart_rate', 'bpm'),
  one('tracker.oxygen_saturation', 'spo2', 'oxygen_saturation', 'percent'),
  {
    ...one('weight', 'weight', 'weight', 'kg'),
    columns: [
      { from: 'weight', to: 'weight', unit: 'kg' },
      { from: 'body_fat', to: 'body_fat', unit: 'percent' },
    ],
  },
  {
    ...one('blood_pressure', 'systolic', 'blood_pressure_systolic', 'mmHg'),
    columns: [
      { from: 'systolic', to: 'blood_pressure_systolic', unit: 'mmHg' },
      { from: 'diastolic', to: 'blood_pressure_diastolic', unit: 'mmHg' },
    ],
  },
]

const stages: ReadonlyMap<number, MeasureName> = new Map([
  [40_001, 'sleep_stage_awake'],
  [40_002, 'sleep_stage_light'],
  [40_003, 'sleep_stage_deep'],
  [40_004, 'sleep_stage_rem'],
])

const exercises: ReadonlyMap<number, SessionName> = new Map([
  [1001, 'exercise_session_walking'],
  [1002, 'exercise_session_running'],
  [9001, 'exercise_session_pilates'],
  [9002, 'exercise_session_yoga'],
  [11_007, 'exercise_session_cycling'],
  [13_001, 'exercise_session_hiking'],
  [14_001, 'exercise_session_swimming'],
  [15_002, 'exercise_session_strength_training'],
])

/** `com.samsung.health.heart_rate.start_time` is `start_time`; a column that has its prefix counts before one without. */
function plainRow(row: SourceRow): SourceRow {
  const plain: Record<string, unknown> = {}
  for (const [name, cell] of Object.entries(row)) {
    const last = name.slice(name.lastIndexOf('.') + 1)
    if (name !== last || plain[last] === undefined) plain[last] = cell
  }
  return plain
}

/** Times are UTC, as a text or as milliseconds; the offset is a text in another column. */
function instantOf(time: unknown, offset: unknown) {
  const text = textIn(time).trim()
  const atMs = /^\d{10,14}$/.test(text) ? Number(text) : wallMsIn(text)
  const offsetMinutes = offsetMinutesIn(offset)
  return atMs === undefined || offsetMinutes === undefined ? undefined : { atMs, offsetMinutes }
}

function frameOf(row: SourceRow): DraftFrame | undefined {
  const start = instantOf(row['start_time'], row['time_offset'])
  const end = isEmpty(row['end_time']) ? start : instantOf(row['end_time'], row['time_offset'])
  const [ownId, deviceId, modified] = [
    textIn(row['datauuid']),
    textIn(row['deviceuuid']),
    instantOf(row['update_time'], 'UTC'),
  ]
  return (
    start &&
    end && {
      source: 'Samsung Health',
      deviceType: 'unknown',
      recordingMethod: 'automatically_recorded',
      start,
      end,
      ...(ownId === '' ? {} : { ownId }),
      ...(deviceId === '' ? {} : { deviceId: deviceId.slice(0, 200) }),
      ...(modified ? { modifiedMs: modified.atMs } : {}),
    }
  )
}

const badTime = 'a row whose start_time, end_time or time_offset is none'

const framed =
  (recordsOf: (row: SourceRow, place: string, frame: DraftFrame) => readonly HealthRecord[]): FileKind['recordsOf'] =>
  (cells, place) => {
    const row = plainRow(cells)
    const frame = frameOf(row)
    return frame ? recordsOf(row, place, frame) : faultOf(place, badTime, row)
  }

const table = (recognised: RegExp, recordsOf: FileKind['recordsOf']): FileKind => ({
  recognises: ({ text }: FileHead) => recognised.test(text.replace(/^\uFEFF/, '')),
  rows: tableRows({ linesBefore: 1 }),
  recordsOf,
})

/** A heart rate of an hour is the mean of samples, which are in a file of their own. */
const meanOrSample = (frame: DraftFrame): DraftFrame =>
  frame.end.atMs - frame.start.atMs > MINUTE ? { ...frame, periodicity: 'hourly', aggregation: 'avg' } : frame

const kinds: readonly FileKind[] = [
  ...measured.map(({ table: recognised, columns }) =>
    table(
      recognised,
      framed((row, place, frame) => recordsOfColumns(columns, { row, place, frame: meanOrSample(frame) })),
    ),
  ),
  table(
    steps.table,
    framed((row, place, frame) => recordsOfColumns(steps.columns, { row, place, frame })),
  ),
  table(
    /^com\.samsung\.s?health\.sleep_stage,/,
    framed((row, place, frame) => {
      const stage = stages.get(numberIn(row['stage']))
      return stage ? [lastingRecord(place, stage, frame)] : faultOf(place, 'stage: is not known', row)
    }),
  ),
  table(
    /^com\.samsung\.s?health\.sleep,/,
    framed((_row, place, frame) => [lastingRecord(place, 'sleep_stage_in_bed', frame)]),
  ),
  table(
    /^com\.samsung\.s?health\.exercise,/,
    framed((row, place, frame) => {
      const name = exercises.get(numberIn(row['exercise_type'])) ?? 'exercise_session_other'
      return [lastingRecord(place, name, { ...frame, recordingMethod: 'actively_recorded' })]
    }),
  ),
]

const mapping: readonly MappingRow[] = [
  ...[...measured, steps].flatMap(({ name, columns }) =>
    columns.map(({ from, to, unit }) => ({
      from: `${name}, ${from}`,
      to,
      units: `${unit}, UTC with an offset`,
      ...(to === 'heart_rate' ? { note: 'over more than a minute it is a mean, told as hourly' } : {}),
    })),
  ),
  { from: 'sleep', to: 'sleep_stage_in_bed', units: 'from start to end' },
  ...[...stages].map(([number, to]) => ({ from: `sleep_stage, ${number}`, to, units: 'from start to end' })),
  ...[...exercises].map(([number, to]) => ({ from: `exercise, ${number}`, to, units: 'from start to end' })),
  { from: 'exercise, any other', to: 'exercise_session_other', units: 'from start to end' },
  { from: 'step_daily_trend, pedometer_day_summary, activity.day_summary', note: 'days’ sums of the step counts' },
  { from: 'jsons/…', note: 'the samples of which the tables have the means' },
]

/** Samsung Health: tables whose first line names them, with times in UTC and the offset as a text. */
export const samsungHealth = formatOfKinds(
  {
    name: 'samsung-health',
    title: 'Samsung Health',
    vendor: 'samsung',
    files: 'the folder of its export (Download personal data), or a zip of it',
    checked: 'files of our own writer; its columns against programs that others published',
    mapping,
  },
  kinds,
)
