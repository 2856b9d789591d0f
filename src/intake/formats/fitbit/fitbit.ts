import { MINUTE } from '../../../base/time/units.ts'
import { declareFormat, measure } from '../declared-format.ts'
import type { FileHead } from '../export-format.ts'
import { jsonRows } from '../small-files.ts'
import { instantIn, lastingFrom, localDay, localFrom, utc, wallClockMs, wallMsIn } from '../source-times.ts'
import { fieldsIn, numberIn } from '../source-values.ts'
import { fitbitDevice, fitbitLevels, sleepRecords } from './fitbit-sleep.ts'
import { takeoutEntities } from './takeout-entities.ts'
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

const googleTable = (names: string) => new RegExp(`(^|/)(${names})(_[^/]*)?\\.csv$`)

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
    ['sleep-DATE.json, a night without a level of sleep', 'no sleep was measured in it'],
    ['sleep-DATE.json, level unknown', 'not measured; the rest of its night counts'],
    ['live_pace_DATE.csv', 'the steps of a workout by the second: steps_DATE.csv has them', googleTable('live_pace')],
    [
      'calories, active_energy_burned, calories_in_heart_rate_zone',
      'estimates, which go on while it is not worn',
      googleTable('calories|active_energy_burned|calories_in_heart_rate_zone'),
    ],
    [
      'activity_level, sedentary_period, time_in_heart_rate_zone, daily means of heart rate variability and saturation',
      'made of the heart rates, steps and nights that are read',
      googleTable(
        'activity_level|sedentary_period|time_in_heart_rate_zone|daily_heart_rate_zones|daily_heart_rate_variability|daily_oxygen_saturation|cardio_load\\w*|cardio_acute_chronic_workload_ratio|daily_readiness',
      ),
    ],
    [
      'respiratory_rate_sleep_summary_DATE.csv',
      'its column says thousandths of breaths, some files hold breaths; daily_respiratory_rate.csv has the night',
      googleTable('respiratory_rate_sleep_summary'),
    ],
    [
      'body_temperature_DATE.csv, Temperature',
      'of the skin, or a difference to the person’s own',
      /(^|\/)body_temperature_[^/]*\.csv$|(^|\/)Temperature\/[^/]*\.csv$/,
    ],
    [
      'distance, altitude, places, food, water, notifications',
      'nothing is derived from them',
      googleTable(
        'distance|altitude|speed|gps_location|coarse_physical_location|weather_forecast|nutrition_log|hydration_log|heart_rate_notification|mindfulness_session|micro_motion|micro_stillness|swim_lengths_data|menstrual_health\\w*',
      ),
    ],
    [
      'the older summaries and JSON of the same figures',
      'the tables above have them',
      /(^|\/)(Daily Heart Rate Variability Summary|Heart Rate Variability Histogram|Respiratory Rate Summary|Daily SpO2|Active Zone Minutes) - [^/]*\.csv$|(^|\/)(distance|altitude|height|time_in_heart_rate_zones|demographic_vo2_max|run_vo2_max|estimated_oxygen_variation|swim_lengths_data|badge|water_logs|food_logs)-[^/]*\.(json|csv)$/,
    ],
    [
      'scores, plans, settings, social, accounts, devices',
      'no measurements',
      /(^|\/)((Account Changes|Biometrics|Paired Devices|Your Profile|User Profile_GoogleData|User Security Data|Commerce_GoogleData|[^/]*Notifications?[^/]*_GoogleData|Fitbit Premium|Discover|Guided Programs|Social(_GoogleData)?|Menstrual Health|Stress Score|Stress Journal|Sleep Score|Daily Readiness|Snore and Noise Detect|Atrial Fibrillation \w+|Mindfulness)\/.*|Health Fitness Data_GoogleData\/(?!UserSleeps_|UserSleepStages_|UserExercises_)[^/]*)\.(csv|json)$/,
    ],
    [
      'sedentary, lightly, moderately and very active minutes',
      'days’ sums; 1,440 sedentary minutes mean not worn',
      /(^|\/)(sedentary|lightly_active|moderately_active|very_active)_minutes-[^/]*\.json$/,
    ],
    ['calories-DATE.json', 'an estimate goes on while it is not worn', /(^|\/)calories-[^/]*\.json$/],
    ['weight-N.json', 'its unit, pounds or kilograms, is not written', /(^|\/)weight-[^/]*\.json$/],
    [
      'exercise-N.json',
      'the zone of its times is not documented; UserExercises_DATE.csv has the newer ones',
      /(^|\/)exercise-\d+\.json$/,
    ],
  ],
})
