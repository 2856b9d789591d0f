import { MINUTE } from '../../../base/time/units.ts'
import { type FieldRule, type FileKind, measure, type RowDeclaration } from '../declared-format.ts'
import type { FileHead, ReadOptions } from '../export-format.ts'
import type { MeasureName } from '../measures.ts'
import { columnsIn, type SourceRow } from '../small-files.ts'
import { instantIn, lastingFrom, localDay, momentAt, type RecordTime, utc, wallMsIn } from '../source-times.ts'
import { numberIn, textIn } from '../source-values.ts'

/** Fitbit writes 50 for a minute in which it could not measure. */
export const NO_SATURATION = 50

const utcIn = (text: unknown) => {
  const instant = instantIn(text)
  return instant && utc(instant.atMs)
}

const sourceOf = (row: SourceRow): string => textIn(row['data source']).trim()
const phone = /^(MobileTrack|Google Health App|Fitbit App|Google Fit|Android|iPhone)$|Health ?(Connect|Kit)$/i

/** A phone counts beside the device on the wrist: it is another source, so the better of the two counts for each moment. */
const byPhone = (row: SourceRow) => (phone.test(sourceOf(row)) ? { source: sourceOf(row), deviceType: 'phone' } : {})
/** The app itself measures no body: its figures were typed in. */
const byScale = (row: SourceRow) => ({
  deviceType: 'scale',
  recordingMethod: / App$/.test(sourceOf(row)) ? ('manual_entry' as const) : ('actively_recorded' as const),
})

type Table = Pick<RowDeclaration, 'file' | 'frame' | 'fields'> & {
  readonly column: string
  /** The file, where others have the same columns. */
  readonly named?: RegExp
  /** By default a moment of UTC. */
  readonly timeOf?: (row: SourceRow, options: ReadOptions) => RecordTime | undefined
  readonly fault?: string
}

/** Exports of others have a `timestamp` among their columns: here it is the first. */
function isTable(head: FileHead, column: string): boolean {
  const [first, ...others] = columnsIn(head)
  return first === 'timestamp' && others.includes(column)
}

/** Within a workout live_pace_DATE.csv has the steps of each second once more, beside their distance. */
const isSteps = (head: FileHead): boolean => /^timestamp,steps(,data source)?$/.test([...columnsIn(head)].join(','))

const NO_ROW = 'a row without time or number'
const atMoment = (row: SourceRow) => momentAt(utcIn(row['timestamp']))
const ofMinute = (row: SourceRow) => lastingFrom(utcIn(row['timestamp']), MINUTE)

/** A table of `timestamp`, figures and, since 2025, `data source`. */
const table = ({ column, named, timeOf = atMoment, fault = NO_ROW, ...declaration }: Table): FileKind => ({
  ...declaration,
  recognises: (head) => isTable(head, column) && (named === undefined || named.test(head.name)),
  when: (row, options) => (Number.isNaN(numberIn(row[column])) ? fault : (timeOf(row, options) ?? fault)),
})

/** A row whose timestamp is the local date, written as a time of UTC. */
const dailyTable = (declaration: Omit<Table, 'timeOf' | 'fault'>): FileKind =>
  table({
    ...declaration,
    timeOf: (row, options) => localDay(wallMsIn(textIn(row['timestamp']).slice(0, 10)), options),
    fault: 'a day without date or number',
  })

const inUtc = (to: MeasureName, unit: string, column: string, more: object = {}): FieldRule =>
  measure(column, to, unit, { as: '', of: ', UTC', ...more })

const WITHOUT_STEPS = 'no steps, as minutes have in which it was not worn'

/** The minutes of medium and of high intensity that the device counted itself. */
const activeMinutes: FieldRule = {
  recordsOf(row, place, frame) {
    const value = numberIn(row['moderate']) + numberIn(row['very'])
    const measured = measure('sum', 'active_minutes', 'minute', { zero: 'a minute that is not active' })
    return measured.recordsOf({ sum: value }, place, frame)
  },
  mapping: [{ from: 'moderate and very', to: 'active_minutes', units: 'minutes a minute, UTC' }],
}

/** The tables of Takeout in `Physical Activity_GoogleData`. */
export const takeoutTables: readonly FileKind[] = [
  {
    ...table({
      file: 'steps_DATE.csv',
      column: 'steps',
      timeOf: ofMinute,
      frame: byPhone,
      fields: [
        inUtc('steps', 'count', 'steps', {
          of: ' a minute, UTC',
          note: 'the same minute in JSON is the same log; a phone is a source of its own',
          zero: WITHOUT_STEPS,
        }),
      ],
    }),
    recognises: isSteps,
  },
  table({
    file: 'floors_DATE.csv',
    column: 'floors',
    timeOf: ofMinute,
    frame: byPhone,
    fields: [inUtc('floors_climbed', 'count', 'floors', { of: ' a minute, UTC', zero: 'no floors' })],
  }),
  dailyTable({
    file: 'daily_resting_heart_rate.csv',
    column: 'beats per minute',
    named: /(^|\/)daily_resting_heart_rate/,
    fields: [measure('beats per minute', 'resting_heart_rate', 'bpm', { as: '', of: ' of a local day' })],
  }),
  table({
    file: 'heart_rate_DATE.csv',
    column: 'beats per minute',
    frame: byPhone,
    fields: [inUtc('heart_rate', 'bpm', 'beats per minute')],
  }),
  table({
    file: 'weight.csv',
    column: 'weight grams',
    frame: byScale,
    fields: [inUtc('weight', 'g', 'weight grams', { note: 'of a data source that is an app: entered by hand' })],
  }),
  table({
    file: 'body_fat_DATE.csv',
    column: 'body fat percentage',
    frame: byScale,
    fields: [inUtc('body_fat', 'percent', 'body fat percentage')],
  }),
  table({
    file: 'height.csv',
    column: 'height millimeters',
    frame: () => ({ recordingMethod: 'manual_entry' }),
    fields: [inUtc('height', 'mm', 'height millimeters', { note: 'entered by hand' })],
  }),
  {
    ...table({
      file: 'oxygen_saturation_DATE.csv',
      column: 'oxygen saturation percentage',
      fields: [
        inUtc('oxygen_saturation', 'percent', 'oxygen saturation percentage', { note: '50 stands for not measured' }),
      ],
    }),
    when(row: SourceRow) {
      const value = numberIn(row['oxygen saturation percentage'])
      if (value === NO_SATURATION) return { leftOut: 'a minute that could not be measured (50)' }
      return Number.isNaN(value) ? NO_ROW : (atMoment(row) ?? NO_ROW)
    },
  },
  table({
    file: 'heart_rate_variability_DATE.csv',
    column: 'root mean square of successive differences milliseconds',
    fields: [inUtc('heart_rate_variability_rmssd', 'ms', 'root mean square of successive differences milliseconds')],
  }),
  dailyTable({
    file: 'daily_respiratory_rate.csv',
    column: 'breaths per minute',
    frame: () => ({ periodicity: 'daily', aggregation: 'avg' }),
    fields: [measure('breaths per minute', 'respiratory_rate', 'breath/min', { as: '', of: ' of a local day' })],
  }),
  table({
    file: 'run_vo2_max.csv',
    column: 'run VO2 max',
    fields: [inUtc('vo2_max', 'mL/kg/min', 'run VO2 max')],
  }),
  dailyTable({
    file: 'demographic_vo2_max.csv',
    column: 'demographic vo2max',
    frame: () => ({ periodicity: 'daily', properties: { estimatedFrom: 'resting heart rate, age, sex and weight' } }),
    fields: [
      measure('demographic vo2max', 'vo2_max', 'mL/kg/min', {
        as: '',
        of: ' of a local day',
        note: 'marked `estimatedFrom`: Fitbit estimates it at rest',
      }),
    ],
  }),
  table({
    file: 'active_minutes_DATE.csv',
    column: 'moderate',
    timeOf: ofMinute,
    frame: byPhone,
    fields: [activeMinutes],
  }),
  table({
    file: 'active_zone_minutes_DATE.csv',
    column: 'total minutes',
    timeOf: ofMinute,
    frame: byPhone,
    fields: [inUtc('active_zone_minutes', 'minute', 'total minutes', { of: ' a minute, UTC', zero: 'no zone' })],
  }),
  dailyTable({
    file: 'Daily Respiratory Rate Summary CSV',
    column: 'daily_respiratory_rate',
    frame: () => ({ periodicity: 'daily', aggregation: 'avg' }),
    fields: [measure('daily_respiratory_rate', 'respiratory_rate', 'breath/min', { as: '', of: ' of a local day' })],
  }),
]
