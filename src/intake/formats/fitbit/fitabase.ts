import { HOUR, MINUTE } from '../../../base/time/units.ts'
import { coded, declareFormat, type FileKind, measure, type RowDeclaration } from '../declared-format.ts'
import type { FileHead } from '../export-format.ts'
import { hasColumns } from '../small-files.ts'
import { localFrom, wallClockMs } from '../source-times.ts'
import { textIn } from '../source-values.ts'
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

type Table = Pick<RowDeclaration, 'file' | 'fields' | 'frame'> & {
  /** The first is the time of a row. */
  readonly columns: readonly [string, ...string[]]
  readonly lengthMs: number
}

const table = ({ columns, lengthMs, ...declaration }: Table): FileKind => ({
  ...declaration,
  recognises: hasColumns('Id', ...columns),
  when(row, options) {
    if (textIn(row['Id']).trim() !== firstPerson(options.head))
      return { fault: 'another person than that of the first row' }
    return localFrom(americanMs(row[columns[0]]), options, lengthMs) ?? `${columns[0]}: is no date-time`
  },
})

const zero = 'no steps, as times have in which it was not worn'
const local = { of: ', local' }

/** Fitabase: tables of Fitbit's data for studies, by the clock on the wall, written the American way. */
export const fitabase = declareFormat({
  name: 'fitabase',
  title: 'Fitabase',
  vendor: 'fitbit',
  files: 'its CSV files, of one person',
  checked: 'files of our own writer; its columns against a study that was published',
  years: '2016, the year of the published study',
  origin: fitbitDevice,
  kinds: [
    table({
      file: 'minuteStepsNarrow',
      columns: ['ActivityMinute', 'Steps'],
      lengthMs: MINUTE,
      fields: [measure('Steps', 'steps', 'count', { of: ' a minute, local', note: 'minutes of 0 are left out', zero })],
    }),
    table({
      file: 'hourlySteps',
      columns: ['ActivityHour', 'StepTotal'],
      lengthMs: HOUR,
      frame: () => ({ periodicity: 'hourly', aggregation: 'sum' }),
      fields: [
        measure('StepTotal', 'steps', 'count', { of: ' an hour, local', note: 'told as hourly, below minutes', zero }),
      ],
    }),
    table({
      file: 'heartrate_seconds',
      columns: ['Time', 'Value'],
      lengthMs: 0,
      fields: [measure('Value', 'heart_rate', 'bpm', local)],
    }),
    table({
      file: 'minuteSleep',
      columns: ['date', 'value', 'logId'],
      lengthMs: MINUTE,
      fields: [
        coded(
          'value',
          { 1: 'sleep_stage_sleeping', 2: 'sleep_stage_awake', 3: 'sleep_stage_awake' },
          { units: 'a minute, local', otherwise: 'value: is no state of sleep' },
        ),
      ],
    }),
    table({
      file: 'weightLogInfo',
      columns: ['Date', 'WeightKg', 'IsManualReport'],
      lengthMs: 0,
      frame: (row) => ({
        deviceType: 'scale',
        ...(/^true$/i.test(textIn(row['IsManualReport'])) ? { recordingMethod: 'manual_entry' } : {}),
      }),
      fields: [
        measure('WeightKg', 'weight', 'kg', local),
        measure('Fat', 'body_fat', 'percent', local),
        measure('BMI', 'body_mass_index', 'count', local),
      ],
    }),
  ],
  leftOut: [
    ['rows of another Id than the first', 'an import is of one person: they are rejected'],
    ['wide tables', 'the narrow ones have the same minutes', /(^|\/)minute\w+Wide[^/]*\.csv$/],
    ['dailyActivity, sleepDay', 'sums of the minutes', /(^|\/)(daily(Activity|Steps)|sleepDay)[^/]*\.csv$/],
    [
      'calories, intensities, METs',
      'estimates that go on while it is not worn',
      /(^|\/)(daily|hourly|minute)(Calories|Intensities|METs)[^/]*\.csv$/,
    ],
  ],
})
