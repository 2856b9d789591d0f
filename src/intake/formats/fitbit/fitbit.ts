import { MINUTE } from '../../../base/time/units.ts'
import { declareFormat, measure } from '../declared-format.ts'
import type { FileHead } from '../export-format.ts'
import { jsonRows } from '../small-files.ts'
import { instantIn, lastingFrom, localDay, localFrom, utc, wallClockMs, wallMsIn } from '../source-times.ts'
import { fieldsIn, numberIn } from '../source-values.ts'
import { fitbitDevice, fitbitLevels, sleepRecords } from './fitbit-sleep.ts'
import { takeoutEntities } from './takeout-entities.ts'
import { takeoutLeftOut } from './takeout-left-out.ts'
import { NO_SATURATION, takeoutTables } from './takeout-tables.ts'

const shortDate = /^(\d\d)\/(\d\d)\/(\d\d) (\d\d):(\d\d):(\d\d)$/

/** `01/31/24 08:00:05`, as the milliseconds of a clock that shows it in UTC. */
function shortDateMs(text: unknown): number | undefined {
  const match = typeof text === 'string' ? shortDate.exec(text) : null
  if (!match) return undefined
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number)
  return wallClockMs({ year: 2000 + year, month, day, hour, minute, second })
}

/** A list in JSON whose values may have fields of their own: `{"dateTime": …, "value": {"bpm": 70}}`. */
const entries = jsonRows((list) =>
  Array.isArray(list) ? list.map(fieldsIn).map((entry) => ({ ...entry, ...fieldsIn(entry['value']) })) : undefined,
)

const isList = ({ text }: FileHead): boolean => /^\s*\[\s*\{/.test(text)
const utcIn = (text: unknown) => instantIn(text)?.atMs

/** A row of UTC that needs a number: a moment, or as long as this. */
const rowAt = (atMs: number | undefined, value: unknown, { row, lengthMs = 0 }: { row: string; lengthMs?: number }) =>
  atMs === undefined || Number.isNaN(numberIn(value))
    ? `${row} without time or number`
    : lastingFrom(utc(atMs), lengthMs)
const minute = { row: 'a minute', lengthMs: MINUTE }
const beat = { row: 'a heart rate' }

const steps = (from: string, note: string) =>
  measure(from, 'steps', 'count', {
    as: '',
    of: ' a minute, UTC',
    note,
    zero: 'no steps, as minutes have in which it was not worn',
  })

/**
 * Fitbit by Google Takeout: JSON files of a month or a day, and the newer CSV files. Steps and heart rate are written in UTC,
 * sleep and variability by the clock on the wall, without a zone.
 */
export const fitbit = declareFormat({
  name: 'fitbit',
  title: 'Fitbit (Google Takeout)',
  vendor: 'fitbit',
  files: 'the zip of Takeout, or its folder Fitbit',
  checked:
    'files of our own writer, and two published nights of 2025, whose minutes asleep are those that Fitbit writes',
  years: 'exports of June and October 2026 by published descriptions, and published lists of columns without a date',
  origin: fitbitDevice,
  kinds: [
    {
      file: 'steps-DATE.json',
      recognises: (head) => isList(head) && /(^|\/)steps-\d{4}-\d\d-\d\d\.json$/.test(head.name),
      rows: entries,
      when: ({ dateTime, value }) => rowAt(shortDateMs(dateTime), value, minute),
      fields: [steps('value', 'minutes of 0 are left out: minutes in which it was not worn have them too')],
    },
    {
      file: 'heart_rate-DATE.json',
      recognises: (head) => isList(head) && /(^|\/)heart_rate-/.test(head.name) && head.text.includes('"bpm"'),
      rows: entries,
      when: ({ dateTime, bpm, confidence }) =>
        confidence === 0 ? { leftOut: 'a heart rate of confidence 0' } : rowAt(shortDateMs(dateTime), bpm, beat),
      fields: [measure('bpm', 'heart_rate', 'bpm', { as: '', of: ', UTC', note: 'confidence 0 is left out' })],
    },
    {
      file: 'resting_heart_rate-DATE.json',
      recognises: (head) => isList(head) && /(^|\/)resting_heart_rate-/.test(head.name),
      rows: entries,
      when: ({ dateTime, value }, options) =>
        localDay(Number.isNaN(numberIn(value)) ? undefined : shortDateMs(dateTime), options) ??
        'a day without date or number',
      fields: [
        measure('value', 'resting_heart_rate', 'bpm', {
          as: '',
          of: ' of a local day',
          note: 'a day of 0 has none',
          zero: 'a day without a resting heart rate',
        }),
      ],
    },
    {
      recognises: (head) => isList(head) && /"dateOfSleep"/.test(head.text) && /"logId"/.test(head.text),
      rows: entries,
      recordsOf: sleepRecords,
      mapping: [
        {
          from: 'sleep-DATE.json, the night',
          to: 'sleep_stage_in_bed',
          units: 'from start to end, local',
          note: 'of logType manual it is marked as entered by hand',
        },
        ...Object.entries(fitbitLevels).map(([level, to]) => ({
          from: `sleep-DATE.json, level ${level}`,
          to,
          units: 'seconds, local',
          note: level === 'wake' ? 'short wakes cut the level around them' : '',
        })),
      ],
    },
    {
      file: 'Heart Rate Variability Details CSV',
      recognises: ({ text }) => /^\uFEFF?timestamp,rmssd,coverage,/.test(text),
      when: ({ timestamp, rmssd }, options) =>
        localFrom(Number.isNaN(numberIn(rmssd)) ? undefined : wallMsIn(timestamp), options) ??
        'five minutes without time or number',
      fields: [measure('rmssd', 'heart_rate_variability_rmssd', 'ms', { as: '', of: ', local' })],
    },
    {
      file: 'Minute SpO2 CSV',
      recognises: ({ name, text }) => /Minute SpO2/i.test(name) && /^\uFEFF?timestamp,value\s/.test(text),
      when: ({ timestamp, value }) =>
        numberIn(value) === NO_SATURATION && utcIn(timestamp) !== undefined
          ? { leftOut: 'a minute that could not be measured (50)' }
          : rowAt(utcIn(timestamp), value, { row: 'a minute' }),
      fields: [
        measure('value', 'oxygen_saturation', 'percent', { as: '', of: ', UTC', note: '50 stands for not measured' }),
      ],
    },
    ...takeoutTables,
    ...takeoutEntities,
  ],
  leftOut: [
    { from: 'sleep-DATE.json, a night without a level of sleep', note: 'no sleep was measured in it' },
    { from: 'sleep-DATE.json, level unknown', note: 'not measured; the rest of its night counts' },
    ...takeoutLeftOut,
    {
      from: 'sedentary, lightly, moderately and very active minutes',
      note: 'days’ sums; 1,440 sedentary minutes mean not worn',
      files: /(^|\/)(sedentary|lightly_active|moderately_active|very_active)_minutes-[^/]*\.json$/,
    },
    {
      from: 'calories-DATE.json',
      note: 'an estimate goes on while it is not worn',
      files: /(^|\/)calories-[^/]*\.json$/,
    },
    {
      from: 'weight-N.json',
      note: 'its unit, pounds or kilograms, is not written',
      files: /(^|\/)weight-[^/]*\.json$/,
    },
    {
      from: 'exercise-N.json',
      note: 'the zone of its times is not documented; UserExercises_DATE.csv has the newer ones',
      files: /(^|\/)exercise-\d+\.json$/,
    },
  ],
})
