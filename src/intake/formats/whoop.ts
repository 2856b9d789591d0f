import { MINUTE } from '../../base/time/units.ts'
import { declareFormat, endToEnd, lasting, measure, session } from './declared-format.ts'
import { hasColumns, type SourceRow } from './small-files.ts'
import { between, instantAt, momentAt, offsetMinutesIn, wallMsIn } from './source-times.ts'
import { isAnyPositive, isEmpty, noSleepMeasured } from './source-values.ts'

/** A time of the clock on the wall, in the offset of the cycle. */
const timeIn = (row: SourceRow, name: string) => instantAt(wallMsIn(row[name]), offsetMinutesIn(row['Cycle timezone']))

const asleepFields = ['Light sleep duration (min)', 'Deep (SWS) duration (min)', 'REM duration (min)'] as const

const atWaking = { note: 'at waking up' }

/** WHOOP, with the English names of its columns. */
export const whoop = declareFormat({
  name: 'whoop',
  title: 'WHOOP',
  vendor: 'whoop',
  files: 'the zip of its export, in English',
  checked: 'files of our own writer; its columns against exports that others published',
  years: 'not known: the published exports are not dated',
  origin: { source: 'WHOOP', deviceType: 'fitness_band', recordingMethod: 'automatically_recorded' },
  kinds: [
    {
      // A cycle runs from sleep to sleep, not from midnight to midnight: its measures belong to the day of waking up.
      file: 'physiological_cycles.csv',
      recognises: hasColumns('Cycle start time', 'Recovery score %', 'Wake onset'),
      when: (row) =>
        isEmpty(row['Wake onset'])
          ? { leftOut: 'a cycle without sleep' }
          : (momentAt(timeIn(row, 'Wake onset')) ?? 'Wake onset or Cycle timezone: is none'),
      // Measured in the night that a cycle begins with. Variability is by RMSSD.
      fields: [
        measure('Resting heart rate (bpm)', 'resting_heart_rate', 'bpm', atWaking),
        measure('Heart rate variability (ms)', 'heart_rate_variability_rmssd', 'ms', atWaking),
        measure('Skin temp (celsius)', 'sleeping_wrist_temperature', 'degC', atWaking),
        measure('Blood oxygen %', 'oxygen_saturation', 'percent', atWaking),
      ],
    },
    {
      file: 'sleeps.csv',
      recognises: hasColumns('Sleep onset', 'Wake onset', 'Nap'),
      when(row) {
        if (!isAnyPositive(row, ['Asleep duration (min)', ...asleepFields])) return noSleepMeasured
        return (
          between(timeIn(row, 'Sleep onset'), timeIn(row, 'Wake onset')) ??
          'Sleep onset, Wake onset or Cycle timezone: is none'
        )
      },
      fields: [
        lasting('sleep_stage_in_bed', 'a sleep', 'from onset to wake onset'),
        endToEnd(['Awake duration (min)', ...asleepFields], 'minutes', MINUTE),
        measure('Respiratory rate (rpm)', 'respiratory_rate', 'breath/min', {
          note: 'one a sleep',
          aggregation: 'avg',
        }),
      ],
    },
    {
      file: 'workouts.csv',
      recognises: hasColumns('Workout start time', 'Workout end time', 'Activity name'),
      when: (row) =>
        between(timeIn(row, 'Workout start time'), timeIn(row, 'Workout end time')) ??
        'Workout start time, its end or Cycle timezone: is none',
      fields: [session('activity', (row) => row['Activity name'])],
    },
  ],
  leftOut: [
    ['Energy burned (cal), Max HR, Average HR', 'sums and means of a cycle or a workout: no local day has them'],
    ['sleeps.csv, a sleep without minutes asleep', 'no sleep was measured in it'],
    ['the sleep columns of physiological_cycles.csv', 'sleeps.csv has the same sleep'],
    ['scores, strain, journal_entries.csv', 'no measurements', /(^|\/)journal_entries\.csv$/],
  ],
})
