import { MINUTE } from '../../base/time/units.ts'
import {
  coded,
  declareFormat,
  type FieldRule,
  type FileKind,
  lasting,
  measure,
  type RowDeclaration,
} from './declared-format.ts'
import { type RowReader, type SourceRow, tableRows } from './small-files.ts'
import { between, offsetMinutesIn, type RecordTime, wallMsIn } from './source-times.ts'
import { isEmpty, noSleepMeasured, numberIn, textIn } from './source-values.ts'

/** `com.samsung.health.heart_rate.start_time` is `start_time`; a column that has its prefix counts before one without. */
function plainRow(row: SourceRow): SourceRow {
  const plain: Record<string, unknown> = {}
  for (const [name, cell] of Object.entries(row)) {
    const last = name.slice(name.lastIndexOf('.') + 1)
    if (name !== last || plain[last] === undefined) plain[last] = cell
  }
  return plain
}

const plainRows: RowReader = async function* (file, head) {
  for await (const { rows, bytesRead } of tableRows({ linesBefore: 1 })(file, head))
    yield { rows: rows.map(plainRow), bytesRead }
}

/** Times are UTC, as a text or as milliseconds; the offset is a text in another column. */
function instantOf(time: unknown, offset: unknown) {
  const text = textIn(time).trim()
  const atMs = /^\d{10,14}$/.test(text) ? Number(text) : wallMsIn(text)
  const offsetMinutes = offsetMinutesIn(offset)
  return atMs === undefined || offsetMinutes === undefined ? undefined : { atMs, offsetMinutes }
}

type TableOptions = Pick<RowDeclaration, 'frame'> & {
  /** Rows of windows of sleep in which nobody slept. */
  readonly isSleepless?: (row: SourceRow) => boolean
}

/** A table is named in the line before its columns, and its columns by their last word. */
const table = (file: string, fields: readonly FieldRule[], { frame, isSleepless }: TableOptions = {}): FileKind => ({
  file,
  recognises: ({ text }) =>
    new RegExp(`^\\uFEFF?com\\.samsung\\.s?health\\.${file.replaceAll('.', '\\.')},`).test(text),
  rows: plainRows,
  when(row) {
    if (isSleepless?.(row)) return noSleepMeasured
    const { start_time: startTime, end_time: endTime, time_offset: offset } = row
    const start = instantOf(startTime, offset)
    const end = isEmpty(endTime) ? start : instantOf(endTime, offset)
    return between(start, end) ?? 'a row whose start_time, end_time or time_offset is none'
  },
  frame: (row, time) => ({
    ownId: textIn(row['datauuid']) || undefined,
    deviceId: textIn(row['deviceuuid']).slice(0, 200) || undefined,
    modifiedMs: instantOf(row['update_time'], 'UTC')?.atMs,
    ...frame?.(row, time),
  }),
  fields,
})

/** A heart rate of an hour is the mean of samples, which are in a file of their own. */
const meanOrSample = (_row: SourceRow, { start, end }: RecordTime) =>
  end.atMs - start.atMs > MINUTE ? ({ periodicity: 'hourly', aggregation: 'avg' } as const) : {}

/** A value that was typed in looks like one of a scale or a cuff in the export. */
const measuredOrTyped = () => ({ recordingMethod: 'unknown' }) as const

const stages = {
  40001: 'sleep_stage_awake',
  40002: 'sleep_stage_light',
  40003: 'sleep_stage_deep',
  40004: 'sleep_stage_rem',
} as const
const exercises = {
  1001: 'exercise_session_walking',
  1002: 'exercise_session_running',
  9001: 'exercise_session_pilates',
  9002: 'exercise_session_yoga',
  11007: 'exercise_session_cycling',
  13001: 'exercise_session_hiking',
  14001: 'exercise_session_swimming',
  15002: 'exercise_session_strength_training',
} as const

const inUtc = { of: ', UTC with an offset' }

/** Samsung Health: tables whose first line names them, with times in UTC and the offset as a text. */
export const samsungHealth = declareFormat({
  name: 'samsung-health',
  title: 'Samsung Health',
  vendor: 'samsung',
  files: 'the folder of its export (Download personal data), or a zip of it',
  checked: 'files of our own writer; its columns against programs that others published',
  years: 'none, for no published file was read',
  origin: { source: 'Samsung Health', deviceType: 'unknown', recordingMethod: 'automatically_recorded' },
  kinds: [
    table(
      'tracker.heart_rate',
      [
        measure('heart_rate', 'heart_rate', 'bpm', {
          ...inUtc,
          note: 'over more than a minute it is a mean, told as hourly',
        }),
      ],
      { frame: meanOrSample },
    ),
    table('tracker.oxygen_saturation', [measure('spo2', 'oxygen_saturation', 'percent', inUtc)], {
      frame: meanOrSample,
    }),
    table('weight', [measure('weight', 'weight', 'kg', inUtc), measure('body_fat', 'body_fat', 'percent', inUtc)], {
      frame: measuredOrTyped,
    }),
    table(
      'blood_pressure',
      [
        measure('systolic', 'blood_pressure_systolic', 'mmHg', inUtc),
        measure('diastolic', 'blood_pressure_diastolic', 'mmHg', inUtc),
      ],
      { frame: measuredOrTyped },
    ),
    table('tracker.pedometer_step_count', [measure('count', 'steps', 'count', inUtc)]),
    table('sleep', [lasting('sleep_stage_in_bed', '')], {
      isSleepless: (row) => numberIn(row['sleep_duration']) === 0,
    }),
    table('sleep_stage', [coded('stage', stages, { otherwise: 'stage: is not known' })]),
    table('exercise', [coded('exercise_type', exercises, { otherwise: { to: 'exercise_session_other' } })], {
      frame: () => ({ recordingMethod: 'actively_recorded' }),
    }),
  ],
  leftOut: [
    ['sleep, a sleep_duration of 0', 'no sleep was measured in it'],
    [
      'step_daily_trend, pedometer_day_summary, activity.day_summary',
      'days’ sums of the step counts',
      /(^|\/)com\.samsung\.s?health\.[^/]*(step_daily_trend|day_summary)[^/]*\.csv$/,
    ],
    ['jsons/…', 'the samples of which the tables have the means', /(^|\/)jsons\/com\.samsung\.[^/]*\//],
    [
      'preferences, goals, badges, profiles of devices',
      'no measurements',
      /(^|\/)com\.samsung\.s?health\.([^/]*(preferences|badge|rewards|goal|social|program|report|insight|best_records|permission)|device_profile|user_profile)[^/]*\.csv$/,
    ],
  ],
})
