import type { HealthRecord, MappingRow } from './export-format.ts'
import { type FileKind, formatOfKinds } from './file-kinds.ts'
import type { MeasureName } from './measures.ts'
import { jsonRows, type SourceRow } from './small-files.ts'
import {
  type DraftFrame,
  faultOf,
  fieldsIn,
  instantIn,
  lastingRecord,
  listIn,
  measuredRecord,
  numberIn,
  sessionName,
  textIn,
  utc,
} from './source-values.ts'

const phone = { source: 'Google Fit', deviceType: 'unknown', recordingMethod: 'automatically_recorded' } as const

/** The one stream of each type that is read. All other streams of the type are parts of it, or are made of it. */
type Stream = {
  readonly stream: string
  readonly values: ReadonlyArray<{ readonly to: MeasureName; readonly unit: string }>
}

const stream = (type: string, merged: string, to: MeasureName, unit: string): Stream => ({
  stream: `derived:com.google.${type}:com.google.android.gms:${merged}`,
  values: [{ to, unit }],
})

const streams: readonly Stream[] = [
  stream('step_count.delta', 'merge_step_deltas', 'steps', 'count'),
  stream('calories.expended', 'merge_calories_expended', 'total_energy_burned', 'kcal'),
  stream('heart_rate.bpm', 'merge_heart_rate_bpm', 'heart_rate', 'bpm'),
  stream('heart_rate.bpm', 'resting_heart_rate<-merge_heart_rate_bpm', 'resting_heart_rate', 'bpm'),
  stream('weight', 'merge_weight', 'weight', 'kg'),
  stream('height', 'merge_height', 'height', 'm'),
  stream('body.fat.percentage', 'merged', 'body_fat', 'percent'),
  stream('oxygen_saturation', 'merged', 'oxygen_saturation', 'percent'),
  stream('body.temperature', 'merged', 'body_temperature', 'degC'),
  stream('blood_glucose', 'merged', 'blood_glucose', 'mmol/L'),
  {
    stream: 'derived:com.google.blood_pressure:com.google.android.gms:merged',
    values: [
      { to: 'blood_pressure_systolic', unit: 'mmHg' },
      { to: 'blood_pressure_diastolic', unit: 'mmHg' },
    ],
  },
]
const sleepStream = 'derived:com.google.sleep.segment:com.google.android.gms:merged'

const stages: ReadonlyMap<number, MeasureName> = new Map([
  [1, 'sleep_stage_awake'],
  [2, 'sleep_stage_sleeping'],
  [3, 'sleep_stage_out_of_bed'],
  [4, 'sleep_stage_light'],
  [5, 'sleep_stage_deep'],
  [6, 'sleep_stage_rem'],
])

const STREAM = 'vitalsync.stream'

/** A file is a stream; it distinguishes its points, so each point carries it. */
function pointsIn(value: unknown): readonly unknown[] | undefined {
  const file = fieldsIn(value)
  const points = file['Data Points']
  if (!Array.isArray(points)) return undefined
  return points.map((point) => ({ ...fieldsIn(point), [STREAM]: file['Data Source'] }))
}

const nanosIn = (value: unknown) => {
  const atMs = Math.round(numberIn(value) / 1_000_000)
  return Number.isNaN(atMs) ? undefined : utc(atMs)
}

/** A value is in a field for its type: integer, float, or text. */
const valuesOf = (point: SourceRow): readonly number[] =>
  listIn(point['fitValue']).map((one) => {
    const value = fieldsIn(fieldsIn(one)['value'])
    return numberIn(value['intVal'] ?? value['fpVal'])
  })

function recordsOfPoint(point: SourceRow, place: string): readonly HealthRecord[] {
  const name = textIn(point[STREAM])
  const known = streams.find((one) => one.stream === name)
  if (!known && name !== sleepStream)
    return [{ place, leftOut: 'a stream that repeats another, or has nothing for us' }]
  const [start, end] = [nanosIn(point['startTimeNanos']), nanosIn(point['endTimeNanos'])]
  if (!start || !end) return faultOf(place, 'a point without its start or its end', point)
  const isManual = /user_input$/.test(textIn(point['originDataSourceId']))
  const modifiedMs = numberIn(point['modifiedTimeMillis'])
  const frame: DraftFrame = {
    ...phone,
    recordingMethod: isManual ? 'manual_entry' : phone.recordingMethod,
    start,
    end,
    ...(Number.isNaN(modifiedMs) ? {} : { modifiedMs }),
  }
  const values = valuesOf(point)
  if (!known) {
    const stage = stages.get(values[0] ?? -1)
    return stage ? [lastingRecord(place, stage, frame)] : faultOf(place, 'a stage of sleep that is not known', point)
  }
  return known.values.map(({ to, unit }, index) =>
    measuredRecord(place, { to, unit, value: values[index] ?? Number.NaN }, frame),
  )
}

function sessionOf(row: SourceRow, place: string): readonly HealthRecord[] {
  const [start, end] = [instantIn(row['startTime']), instantIn(row['endTime'])]
  if (!start || !end) return faultOf(place, 'a session without startTime or endTime', row)
  if (row['fitnessActivity'] === 'sleep') return [{ place, leftOut: 'a night: its segments are a stream' }]
  return [lastingRecord(place, sessionName(row['fitnessActivity']), { ...phone, start, end })]
}

const points: FileKind = {
  recognises: ({ text }) => /^\s*\{\s*"Data Source"\s*:/.test(text) || /^\s*\{\s*"Data Points"\s*:/.test(text),
  rows: jsonRows(pointsIn),
  recordsOf: recordsOfPoint,
}

const sessions: FileKind = {
  recognises: ({ text }) => /^\s*\{\s*"fitnessActivity"\s*:/.test(text),
  rows: jsonRows((value) => [value]),
  recordsOf: sessionOf,
}

const shortName = (name: string) => name.replace('derived:com.google.', '').replace('com.google.android.gms:', '')

const mapping: readonly MappingRow[] = [
  ...streams.flatMap(({ stream: name, values }) =>
    values.map(({ to, unit }) => ({ from: `All Data, ${shortName(name)}`, to, units: `${unit}, UTC` })),
  ),
  ...[...stages].map(([number, to]) => ({
    from: `All Data, ${shortName(sleepStream)} ${number}`,
    to,
    units: 'from start to end',
  })),
  { from: 'All Sessions', to: 'exercise_session_<activity>', units: 'from start to end' },
  { from: 'every other stream, raw or derived', note: 'a part of a merged stream, or made of one' },
  { from: 'Daily activity metrics', note: 'sums; their days may be those of UTC' },
]

/** Google Fit by Takeout: one stream of points a file. */
export const googleFit = formatOfKinds(
  {
    name: 'google-fit',
    title: 'Google Fit (Takeout)',
    vendor: 'google',
    files: 'the zip of Takeout, or its folder Fit',
    checked: 'files of our own writer only',
    mapping,
  },
  [points, sessions],
)
