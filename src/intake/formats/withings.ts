import { SECOND } from '../../base/time/units.ts'
import { declareFormat, type FieldRule, type FileKind, lasting, measure, session } from './declared-format.ts'
import type { FileHead, HealthRecord, MappingRow, RecordPlace } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import type { SourceRow } from './small-files.ts'
import { instantIn, instantsIn, later, localFrom, wallMsIn } from './source-times.ts'
import {
  type DraftFrame,
  faultOf,
  isAnyPositive,
  isEmpty,
  lastingRecord,
  measuredRecord,
  noSleepMeasured,
  numberIn,
} from './source-values.ts'
import { readWithingsRows, withingsColumns, withingsExercise } from './withings-languages.ts'

const tracker = { source: 'Withings', deviceType: 'watch', recordingMethod: 'automatically_recorded' } as const

/** The columns name the unit that the account is set to. */
const inEachUnit = (name: string, to: MeasureName, units: readonly string[]): FieldRule[] =>
  units.map((unit) => measure(`${name} (${unit})`, to, unit, { of: ', local' }))
const masses = ['kg', 'lb', 'st']

/** The measurements of a moment, by the clock on the wall. */
const momentsIn = (file: string, fields: readonly FieldRule[], deviceType = 'scale'): FileKind => ({
  file,
  rows: readWithingsRows,
  recognises(head) {
    const columns = withingsColumns(head)
    return columns.has('Date') && fields.some(({ from }) => from !== undefined && columns.has(from))
  },
  when: (row, options) => localFrom(wallMsIn(row['Date']), options) ?? 'Date: is no date-time',
  frame: () => ({ deviceType, recordingMethod: 'actively_recorded' }),
  fields,
})

const LIST_MAX = 5000
const listOf = (value: unknown): number[] | undefined => {
  const match = /^\s*\[([\d\s.,-]*)\]\s*$/.exec(String(value))
  const numbers = match?.[1]?.split(',').map(numberIn)
  return numbers && numbers.length <= LIST_MAX && !numbers.some(Number.isNaN) ? numbers : undefined
}

type SliceRecord = (place: RecordPlace, slice: { readonly value: number; readonly frame: DraftFrame }) => HealthRecord

/**
 * A raw file: `2022-01-06T12:50:26+01:00,"[60,60]","[13,5]"`, values one after the other, each as long as the seconds beside it.
 * Every raw file has these columns: only the end of its name says what the values are.
 */
const rawFile = (file: string, mapping: readonly MappingRow[], recordOf: SliceRecord): FileKind => ({
  rows: readWithingsRows,
  recognises: (head: FileHead) => isRaw(head) && new RegExp(`(^|/)${file}(_\\d+)?\\.csv$`).test(head.name),
  recordsOf(row: SourceRow, place: RecordPlace) {
    const [start, seconds, values] = [instantIn(row['start']), listOf(row['duration']), listOf(row['value'])]
    if (!start || !seconds || !values || seconds.length !== values.length)
      return faultOf(place, 'a row whose start, durations or values do not fit', row)
    let end = start
    return values.map((value, index) => {
      const from = end
      end = later(from, (seconds[index] ?? 0) * SECOND)
      return recordOf(place, { value, frame: { ...tracker, start: from, end } })
    })
  },
  mapping: mapping.map(({ from, ...row }) => ({ from: `${file}.csv${from}`, ...row })),
})
const hasEnglish =
  (...names: readonly string[]) =>
  (head: FileHead): boolean => {
    const columns = withingsColumns(head)
    return names.every((name) => columns.has(name))
  }
const isRaw = hasEnglish('start', 'duration', 'value')

/** For a measure that is a sum: an empty slice is no record. */
const amounts = (file: string, to: MeasureName, unit: string) =>
  rawFile(file, [{ from: '', to, units: unit }], (place, { value, frame }) =>
    value === 0 ? { place, leftOut: 'a slice with nothing in it' } : measuredRecord(place, { to, unit, value }, frame),
  )
const samples = (file: string, to: MeasureName, unit: string) =>
  rawFile(file, [{ from: '', to, units: unit }], (place, { value, frame }) =>
    measuredRecord(place, { to, unit, value }, { ...frame, end: frame.start }),
  )

const stages: readonly MeasureName[] = ['sleep_stage_awake', 'sleep_stage_light', 'sleep_stage_deep', 'sleep_stage_rem']
const stageRows = stages.map((to, value) => ({ from: `, ${value}`, to, units: 'seconds' }))

const fromTo = (row: SourceRow) => instantsIn(row['from'], row['to']) ?? 'from or to: is no date-time with an offset'

/** Withings: measurements by the clock on the wall, raw files and nights with their offset. */
export const withings = declareFormat({
  name: 'withings',
  title: 'Withings',
  vendor: 'withings',
  files: 'the zip of its export, in any language',
  checked: 'files of our own writer; its columns against exports that others published',
  years:
    'columns in German of 2014, 2024 and 2026, in English of 2022, in Spanish and Japanese without a date, as published',
  origin: tracker,
  kinds: [
    momentsIn('weight.csv', [
      ...inEachUnit('Weight', 'weight', masses),
      ...inEachUnit('Bone mass', 'bone_mass', masses),
      ...inEachUnit('Hydration', 'body_water_mass', masses),
    ]),
    {
      ...momentsIn('height.csv', inEachUnit('Height', 'height', ['m', 'cm'])),
      frame: () => ({ recordingMethod: 'manual_entry' }),
    },
    {
      ...momentsIn(
        'bp.csv',
        [
          measure('Systolic', 'blood_pressure_systolic', 'mmHg', { of: ', local' }),
          measure('Diastolic', 'blood_pressure_diastolic', 'mmHg', { of: ', local' }),
          measure('Heart rate', 'heart_rate', 'bpm', { of: ', local' }),
        ],
        'blood_pressure_monitor',
      ),
      recognises: hasEnglish('Date', 'Systolic', 'Diastolic'),
    },
    amounts('raw_tracker_steps', 'steps', 'count'),
    amounts('raw_tracker_calories-earned', 'active_energy_burned', 'kcal'),
    samples('raw_hr_hr', 'heart_rate', 'bpm'),
    samples('raw_tracker_hr', 'heart_rate', 'bpm'),
    samples('raw_bed_hr', 'heart_rate', 'bpm'),
    samples('raw_sleep-monitor_hr', 'heart_rate', 'bpm'),
    samples('raw_bed_respiratory-rate', 'respiratory_rate', 'breath/min'),
    samples('raw_sleep-monitor_respiratory-rate', 'respiratory_rate', 'breath/min'),
    samples('raw_spo2_auto_spo2', 'oxygen_saturation', 'percent'),
    {
      file: 'sleep.csv',
      rows: readWithingsRows,
      recognises: hasEnglish('from', 'to', 'light (s)', 'deep (s)'),
      when: (row) => (isAnyPositive(row, ['light (s)', 'deep (s)', 'rem (s)']) ? fromTo(row) : noSleepMeasured),
      fields: [lasting('sleep_stage_in_bed', '')],
    },
    rawFile('raw_tracker_sleep-state', stageRows, (place, { value, frame }) => {
      const stage = stages[value]
      return stage ? lastingRecord(place, stage, frame) : { place, fault: 'value: is no stage of sleep', text: '' }
    }),
    {
      file: 'activities.csv',
      rows: readWithingsRows,
      recognises: hasEnglish('from', 'to', 'Activity type'),
      when: (row) => instantsIn(row['from (manual)'], row['to (manual)']) ?? fromTo(row),
      frame: (row) => ({ recordingMethod: isEmpty(row['from (manual)']) ? 'actively_recorded' : 'manual_entry' }),
      fields: [session('type', (row) => withingsExercise(row['Activity type']))],
    },
  ],
  leftOut: [
    ['aggregates_….csv', 'days’ sums of the raw files', /(^|\/)aggregates_[^/]*\.csv$/],
    ['sleep.csv, a night without seconds of sleep', 'no sleep was measured in it'],
    ['the stages and heart rates of sleep.csv', 'sums and means of the raw files'],
    [
      'distances, heights, places, laps, snoring',
      'nothing is derived from them',
      /(^|\/)raw_(location_[^/]*|spo2_quality_score|[a-z-]+_(distance|elevation|altitude|lap-pool|snoring|gps-speed|latitude|longitude|direction|horizontal-radius|vertical-radius))(_\d+)?\.csv$/,
    ],
    [
      'calories at rest',
      'an estimate goes on while it is not worn',
      /(^|\/)raw_[a-z-]+_(calories-passive|passive-calories)[^/]*\.csv$/,
    ],
    [
      'signal.csv, account.csv, user.csv',
      'curves of the heart; no measurements',
      /(^|\/)(signal|account|user|preferences)\.csv$/,
    ],
    ['Fat mass, Muscle mass', 'nothing is derived from them'],
    ['a height in feet and inches', 'is written as a text'],
  ],
})
