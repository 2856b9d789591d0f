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

/** The column of a figure, the measure that it is, and its unit. */
type Figure = readonly [column: string, to: MeasureName, unit: string]

type TableOptions = Pick<RowDeclaration, 'frame'> & {
  /** The file, where others have the same columns. */
  readonly named?: RegExp
  /** By default a moment of UTC. */
  readonly timeOf?: (row: SourceRow, options: ReadOptions) => RecordTime | undefined
  readonly fault?: string
  readonly of?: string
  readonly note?: string
  readonly zero?: string
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

/** A table of `timestamp`, figures and, since 2025, `data source`. */
function table(file: string, [column, to, unit]: Figure, options: TableOptions = {}): FileKind & RowDeclaration {
  const { named, timeOf = atMoment, fault = NO_ROW, frame, ...words } = options
  return {
    file,
    ...(frame && { frame }),
    fields: [measure(column, to, unit, { as: '', of: ', UTC', ...words })],
    recognises: (head) => isTable(head, column) && (named === undefined || named.test(head.name)),
    when: (row, read) => (Number.isNaN(numberIn(row[column])) ? fault : (timeOf(row, read) ?? fault)),
  }
}

/** A row whose timestamp is the local date, written as a time of UTC. */
const dailyTable = (file: string, figure: Figure, options: Pick<TableOptions, 'named' | 'frame' | 'note'> = {}) =>
  table(file, figure, {
    ...options,
    of: ' of a local day',
    timeOf: (row, read) => localDay(wallMsIn(textIn(row['timestamp']).slice(0, 10)), read),
    fault: 'a day without date or number',
  })

const minuteTable = (file: string, figure: Figure, words: Pick<TableOptions, 'note' | 'zero'> = {}) =>
  table(file, figure, {
    ...words,
    of: ' a minute, UTC',
    timeOf: (row) => lastingFrom(utcIn(row['timestamp']), MINUTE),
    frame: byPhone,
  })

/** The minutes of medium and of high intensity that the device counted itself. */
const activeMinutes: FieldRule = {
  recordsOf(row, place, frame) {
    const value = numberIn(row['moderate']) + numberIn(row['very'])
    const measured = measure('sum', 'active_minutes', 'minute', { zero: 'a minute that is not active' })
    return measured.recordsOf({ sum: value }, place, frame)
  },
  mapping: [{ from: 'moderate and very', to: 'active_minutes', units: 'minutes a minute, UTC' }],
}

const breathsOfDay = { frame: () => ({ periodicity: 'daily', aggregation: 'avg' }) as const }
const rmssd = 'root mean square of successive differences milliseconds'

/** The tables of Takeout in `Physical Activity_GoogleData`. */
export const takeoutTables: readonly FileKind[] = [
  {
    ...minuteTable('steps_DATE.csv', ['steps', 'steps', 'count'], {
      note: 'the same minute in JSON is the same log; a phone is a source of its own',
      zero: 'no steps, as minutes have in which it was not worn',
    }),
    recognises: isSteps,
  },
  minuteTable('floors_DATE.csv', ['floors', 'floors_climbed', 'count'], { zero: 'no floors' }),
  dailyTable('daily_resting_heart_rate.csv', ['beats per minute', 'resting_heart_rate', 'bpm'], {
    named: /(^|\/)daily_resting_heart_rate/,
  }),
  table('heart_rate_DATE.csv', ['beats per minute', 'heart_rate', 'bpm'], { frame: byPhone }),
  table('weight.csv', ['weight grams', 'weight', 'g'], {
    frame: byScale,
    note: 'of a data source that is an app: entered by hand',
  }),
  table('body_fat_DATE.csv', ['body fat percentage', 'body_fat', 'percent'], { frame: byScale }),
  table('height.csv', ['height millimeters', 'height', 'mm'], {
    frame: () => ({ recordingMethod: 'manual_entry' }),
    note: 'entered by hand',
  }),
  {
    ...table('oxygen_saturation_DATE.csv', ['oxygen saturation percentage', 'oxygen_saturation', 'percent'], {
      note: '50 stands for not measured',
    }),
    when(row: SourceRow) {
      const value = numberIn(row['oxygen saturation percentage'])
      if (value === NO_SATURATION) return { leftOut: 'a minute that could not be measured (50)' }
      return Number.isNaN(value) ? NO_ROW : (atMoment(row) ?? NO_ROW)
    },
  },
  table('heart_rate_variability_DATE.csv', [rmssd, 'heart_rate_variability_rmssd', 'ms']),
  dailyTable('daily_respiratory_rate.csv', ['breaths per minute', 'respiratory_rate', 'breath/min'], breathsOfDay),
  table('run_vo2_max.csv', ['run VO2 max', 'vo2_max', 'mL/kg/min']),
  dailyTable('demographic_vo2_max.csv', ['demographic vo2max', 'vo2_max', 'mL/kg/min'], {
    frame: () => ({ periodicity: 'daily', properties: { estimatedFrom: 'resting heart rate, age, sex and weight' } }),
    note: 'marked `estimatedFrom`: Fitbit estimates it at rest',
  }),
  { ...minuteTable('active_minutes_DATE.csv', ['moderate', 'active_minutes', 'minute']), fields: [activeMinutes] },
  minuteTable('active_zone_minutes_DATE.csv', ['total minutes', 'active_zone_minutes', 'minute'], { zero: 'no zone' }),
  dailyTable(
    'Daily Respiratory Rate Summary CSV',
    ['daily_respiratory_rate', 'respiratory_rate', 'breath/min'],
    breathsOfDay,
  ),
]
