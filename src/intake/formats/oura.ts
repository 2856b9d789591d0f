import { DAY, MINUTE, SECOND } from '../../base/time/units.ts'
import { declareFormat, type FieldRule, lasting, measure, type RowDeclaration, session } from './declared-format.ts'
import type { FileHead } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { columnsIn, jsonRows, readTableRows, type SourceRow } from './small-files.ts'
import { instantIn, instantsIn, lastingFrom, later, localDay, momentAt, wallMsIn } from './source-times.ts'
import {
  faultOf,
  fieldsIn,
  isEmpty,
  lastingRecord,
  listIn,
  measuredRecord,
  noSleepMeasured,
  numberIn,
  textIn,
} from './source-values.ts'

const origin = { source: 'Oura', deviceType: 'ring', recordingMethod: 'automatically_recorded' } as const

/** The digits of a hypnogram. */
const phases: Readonly<Record<string, MeasureName>> = {
  1: 'sleep_stage_deep',
  2: 'sleep_stage_light',
  3: 'sleep_stage_rem',
  4: 'sleep_stage_awake',
}

const phaseTexts = [
  ['sleep_phase_30_sec', 30 * SECOND],
  ['sleep_phase_5_min', 5 * MINUTE],
] as const

const NIGHT_VALUES_MAX = 5000

/** A cell of a table may hold a document of JSON. */
function nestedIn(value: unknown): SourceRow {
  if (typeof value !== 'string' || !value.startsWith('{')) return fieldsIn(value)
  try {
    return fieldsIn(JSON.parse(value))
  } catch {
    return {}
  }
}

const night: FieldRule = {
  ...lasting('sleep_stage_in_bed', 'the night', 'from bedtime_start to bedtime_end'),
  recordsOf: (row, place, frame) => [
    lastingRecord(place, 'sleep_stage_in_bed', { ...frame, ownId: textIn(row['id']) || undefined }),
  ],
}

const hypnogram: FieldRule = {
  recordsOf(row, place, frame) {
    const [name, stepMs] = phaseTexts.find(([column]) => !isEmpty(row[column])) ?? []
    if (name === undefined || stepMs === undefined) return []
    const text = textIn(row[name])
    if (text.length > NIGHT_VALUES_MAX || /[^1-4]/.test(text))
      return faultOf(place, `${name}: has an unknown phase`, row)
    return [...text.matchAll(/(.)\1*/g)].flatMap(({ 0: run, index }) => {
      const stage = phases[run[0] ?? '']
      const start = later(frame.start, index * stepMs)
      // The last step may reach beyond the night.
      const endMs = Math.min(start.atMs + run.length * stepMs, frame.end.atMs)
      if (!stage || endMs <= start.atMs) return []
      return [lastingRecord(place, stage, { ...frame, start, end: { ...start, atMs: endMs } })]
    })
  },
  mapping: Object.entries(phases).map(([digit, to]) => ({
    from: `phase ${digit}`,
    to,
    units: 'steps of 30 seconds, else of 5 minutes',
  })),
}

/** A night has its own list of variability, by RMSSD; its means, and the heart rate that another list has, are left out. */
const variability: FieldRule = {
  recordsOf(row, place) {
    const { interval, items, timestamp } = nestedIn(row['hrv'])
    const [begin, stepMs] = [instantIn(timestamp), numberIn(interval) * SECOND]
    if (!begin || !(stepMs > 0)) return []
    return listIn(items)
      .slice(0, NIGHT_VALUES_MAX)
      .flatMap((item, index) => {
        const value = numberIn(item)
        if (Number.isNaN(value) || value === 0) return []
        const frame = { ...origin, ...lastingFrom(later(begin, index * stepMs), stepMs), aggregation: 'avg' } as const
        return [measuredRecord(place, { to: 'heart_rate_variability_rmssd', unit: 'ms', value }, frame)]
      })
  },
  mapping: [{ from: 'hrv', to: 'heart_rate_variability_rmssd', units: 'ms', note: '0 and null are no measurement' }],
}

const lowest = measure('lowest_heart_rate', 'resting_heart_rate', 'bpm', { note: 'of the long sleep of a day' })
const resting: FieldRule = {
  ...lowest,
  recordsOf: (row, place, frame) =>
    row['type'] === 'long_sleep' ? lowest.recordsOf(row, place, { ...frame, start: frame.end }) : [],
}

const ofActiveDay = { note: 'a day from four in the morning to four' }

/** A document of the interface, whether it comes from a JSON list or from a line of a table. `has`: the fields that no other has together. */
type Document = RowDeclaration & { readonly has: readonly string[] }

const documents: readonly Document[] = [
  {
    file: 'sleep',
    has: ['bedtime_start', 'bedtime_end', 'time_in_bed'],
    when(row) {
      const { bedtime_start: start, bedtime_end: end, type } = row
      if (type === 'deleted') return { leftOut: 'a night that was deleted' }
      if (type === 'rest') return { leftOut: 'a sleep that the person said was none' }
      const isMeasured = phaseTexts.some(([name]) => /[123]/.test(textIn(row[name])))
      if (!isMeasured && !(numberIn(row['total_sleep_duration']) > 0)) return noSleepMeasured
      return instantsIn(start, end) ?? 'a night without bedtime_start or bedtime_end'
    },
    fields: [
      night,
      hypnogram,
      variability,
      measure('average_breath', 'respiratory_rate', 'breath/min', { note: 'one a night', aggregation: 'avg' }),
      resting,
    ],
  },
  {
    file: 'heartrate',
    has: ['bpm', 'source', 'timestamp'],
    when: ({ timestamp, bpm }) =>
      (Number.isNaN(numberIn(bpm)) ? undefined : momentAt(instantIn(timestamp))) ??
      'a heart rate without time or number',
    fields: [measure('bpm', 'heart_rate', 'bpm')],
  },
  {
    // A day of activity runs from four in the morning to four.
    file: 'daily_activity',
    has: ['steps', 'equivalent_walking_distance'],
    when: (row) =>
      numberIn(row['non_wear_time']) * SECOND >= DAY
        ? { leftOut: 'a day in which the ring was not worn' }
        : (lastingFrom(instantIn(row['timestamp']), DAY) ?? 'a day without timestamp'),
    frame: () => ({ periodicity: 'daily', aggregation: 'sum' }),
    fields: [
      measure('steps', 'steps', 'count', ofActiveDay),
      measure('active_calories', 'active_energy_burned', 'kcal', ofActiveDay),
      measure('total_calories', 'total_energy_burned', 'kcal', ofActiveDay),
    ],
  },
  {
    file: 'daily_spo2',
    has: ['spo2_percentage', 'day'],
    when(row, options) {
      const { average } = nestedIn(row['spo2_percentage'])
      const day = localDay(wallMsIn(row['day']), options)
      if (day && (isEmpty(average) || average === 0)) return { leftOut: 'a day without saturation' }
      return day ?? 'a day without a date'
    },
    frame: () => ({ periodicity: 'daily', aggregation: 'avg' }),
    fields: [
      {
        recordsOf: (row, place, frame) => {
          const value = numberIn(nestedIn(row['spo2_percentage'])['average'])
          return [measuredRecord(place, { to: 'oxygen_saturation', unit: 'percent', value }, frame)]
        },
        mapping: [{ from: 'average', to: 'oxygen_saturation', units: 'percent', note: 'of a local day; 0 is none' }],
      },
    ],
  },
  {
    file: 'workout',
    has: ['start_datetime', 'end_datetime', 'intensity'],
    when: (row) =>
      instantsIn(row['start_datetime'], row['end_datetime']) ?? 'a workout without start_datetime or end_datetime',
    frame: (row) => ({
      recordingMethod: row['source'] === 'manual' ? 'manual_entry' : 'actively_recorded',
      ownId: textIn(row['id']) || undefined,
    }),
    fields: [session('activity', (row) => row['activity'])],
  },
  {
    file: 'vo2_max',
    has: ['vo2_max', 'timestamp'],
    when: (row) => momentAt(instantIn(row['timestamp'])) ?? 'a VO2 max without timestamp',
    fields: [measure('vo2_max', 'vo2_max', 'mL/kg/min', { as: '' })],
  },
]

/** `{"data": […]}` of one document, or `{"sleep": […], "heartrate": […]}` of several. */
const listsIn = (value: unknown): readonly unknown[] | undefined => {
  const lists = Object.values(fieldsIn(value)).filter(Array.isArray)
  return lists.length > 0 && !Array.isArray(value) ? lists.flat() : undefined
}

/** The beginning may end within a document, so one field that nobody else writes does beside the list around it. */
const isDocumentList = ({ text }: FileHead): boolean =>
  /^\s*\{\s*"[a-z0-9_]+"\s*:\s*\[\s*\{/.test(text) &&
  (/"(bedtime_start|spo2_percentage|equivalent_walking_distance|vo2_max)"\s*:/.test(text) ||
    (/"bpm"\s*:/.test(text) && /"source"\s*:\s*"(awake|rest|sleep|session|live|workout)"/.test(text)) ||
    (/"start_datetime"\s*:/.test(text) && /"intensity"\s*:/.test(text)))

const isDocumentTable = (head: FileHead): boolean => {
  const columns = columnsIn(head)
  return documents.some(({ has }) => has.every((field) => columns.has(field)))
}

/** Oura: the documents of its second interface as JSON, and the tables of the export of an account, which have the same fields. */
export const oura = declareFormat({
  name: 'oura',
  title: 'Oura',
  vendor: 'oura',
  files: 'the zip of the account’s export (CSV), or JSON as its second interface answers',
  checked: 'files of our own writer; its fields against the documentation of its interface',
  years: 'none, for no published file was read',
  origin,
  kinds: [
    {
      recognises: (head) => isDocumentList(head) || isDocumentTable(head),
      rows: (file, head) => (isDocumentList(head) ? jsonRows(listsIn) : readTableRows)(file, head),
      mixed: documents.map((document) => ({
        ...document,
        holds: (row) => document.has.every((field) => row[field] !== undefined),
      })),
      otherwise: 'a document with nothing for us', // scores, readiness, tags
    },
  ],
  leftOut: [
    ['sleep without a phase of sleep or total_sleep_duration', 'no sleep was measured in it'],
    ['sleep of type deleted or rest', 'the person said that it was none'],
    ['daily_activity of a day with 24 hours of non_wear_time', 'its energy is an estimate of the body at rest'],
    ['sleep, heart_rate', 'heartrate has the same night'],
    ['sleep, average_hrv and the durations', 'means and sums of the lists beside them'],
    [
      'scores, readiness, resilience, tags',
      'no measurements',
      /(^|\/)(daily_?(readiness|resilience|stress|sleep|cardiovascular_?age)|enhanced_?tag|tag|session|ring_?configuration|ring_?battery_?level|sleep_?time|rest_?mode_?period)\.csv$/i,
    ],
  ],
})
