import { HOUR, MINUTE, SECOND } from '../../base/time/units.ts'
import { declareFormat, type RowDeclaration } from './declared-format.ts'
import { asDaily, quantityRecord } from './exchange-values.ts'
import type { FileHead, HealthRecord, RecordPlace } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { jsonLinesOrRows, type SourceRow } from './small-files.ts'
import { between, instantIn, lastingFrom, later, momentAt, type RecordTime } from './source-times.ts'
import { type DraftFrame, fieldsIn, lastingRecord, numberIn, sessionName, textIn } from './source-values.ts'

/** By the name of a schema: the fields of its body, and the measures that they are. */
const schemas: Readonly<Record<string, readonly (readonly [field: string, to: MeasureName])[]>> = {
  'step-count': [['step_count', 'steps']],
  'heart-rate': [['heart_rate', 'heart_rate']],
  'body-weight': [['body_weight', 'weight']],
  'body-height': [['body_height', 'height']],
  'body-mass-index': [['body_mass_index', 'body_mass_index']],
  'body-fat-percentage': [['body_fat_percentage', 'body_fat']],
  'body-temperature': [['body_temperature', 'body_temperature']],
  'blood-glucose': [['blood_glucose', 'blood_glucose']],
  'oxygen-saturation': [['oxygen_saturation', 'oxygen_saturation']],
  'respiratory-rate': [['respiratory_rate', 'respiratory_rate']],
  'blood-pressure': [
    ['systolic_blood_pressure', 'blood_pressure_systolic'],
    ['diastolic_blood_pressure', 'blood_pressure_diastolic'],
  ],
}

/** Variability is a measure of its own for each algorithm. */
const variabilities: ReadonlyMap<string, MeasureName> = new Map([
  ['rmssd', 'heart_rate_variability_rmssd'],
  ['sdnn', 'heart_rate_variability_sdnn'],
])

const durations: Readonly<Record<string, number>> = {
  ms: 1,
  sec: SECOND,
  s: SECOND,
  min: MINUTE,
  h: HOUR,
  d: 24 * HOUR,
}

/** A moment, or an interval by two of its start, its end and its length. */
function timeFrameIn(body: SourceRow): RecordTime | undefined {
  const { date_time: moment, time_interval: interval } = fieldsIn(body['effective_time_frame'])
  const { start_date_time: from, end_date_time: until, duration } = fieldsIn(interval)
  const [start, end] = [instantIn(from), instantIn(until)]
  const { value, unit } = fieldsIn(duration)
  const lengthMs = numberIn(value) * (durations[textIn(unit)] ?? Number.NaN)
  const whole = momentAt(instantIn(moment)) ?? between(start, end)
  if (whole || Number.isNaN(lengthMs)) return whole
  return lastingFrom(start, lengthMs) ?? (end && { start: later(end, -lengthMs), end })
}

const origin = { source: 'Open mHealth', deviceType: 'unknown', recordingMethod: 'automatically_recorded' } as const

const schemaOf = (point: SourceRow): string => textIn(fieldsIn(fieldsIn(point['header'])['schema_id'])['name'])

const dataPoints: RowDeclaration = {
  file: '',
  when(point) {
    const schema = schemaOf(point)
    if (schema === '') return { fault: 'no data point: it has no header with a schema' }
    if (!Object.hasOwn(schemas, schema) && !/^(sleep-episode|physical-activity|heart-rate-variability)$/.test(schema))
      return { leftOut: `a data point of ${schema.slice(0, 60)}` }
    return timeFrameIn(fieldsIn(point['body'])) ?? { fault: 'effective_time_frame: is no moment and no interval' }
  },
  /** The header is one of Open mHealth, or of IEEE 1752.1, which has other names for the same. */
  frame(point) {
    const header = fieldsIn(point['header'])
    const provenance = fieldsIn(header['acquisition_provenance'])
    const modality = textIn(provenance['modality']) || textIn(header['modality'])
    return {
      source: textIn(provenance['source_name']) || origin.source,
      recordingMethod: modality === 'self-reported' ? 'manual_entry' : origin.recordingMethod,
      ownId: textIn(header['id']) || textIn(header['uuid']) || undefined,
      modifiedMs: instantIn(header['creation_date_time'] ?? header['source_creation_date_time'])?.atMs,
    }
  },
  fields: [
    {
      recordsOf: (point, place, frame) => recordsOfBody(schemaOf(point), fieldsIn(point['body']), { place, frame }),
      mapping: [
        ...Object.entries(schemas).flatMap(([schema, fields]) =>
          fields.map(([field, to]) => ({
            from: `${schema}, ${field}`,
            to,
            note: schema === 'step-count' ? 'of a day it is told as daily' : undefined,
          })),
        ),
        ...[...variabilities].map(([algorithm, to]) => ({
          from: `heart-rate-variability, ${algorithm.toUpperCase()}`,
          to,
        })),
        { from: 'sleep-episode', to: 'sleep_stage_in_bed', units: 'from start to end' },
        { from: 'physical-activity', to: 'exercise_session_<activity>', units: 'from start to end' },
      ],
    },
  ],
}

function recordsOfBody(
  schema: string,
  body: SourceRow,
  { place, frame }: { readonly place: RecordPlace; readonly frame: DraftFrame },
): readonly HealthRecord[] {
  if (schema === 'sleep-episode') return [lastingRecord(place, 'sleep_stage_in_bed', frame)]
  if (schema === 'physical-activity')
    return [
      lastingRecord(place, sessionName(body['activity_name']), { ...frame, recordingMethod: 'actively_recorded' }),
    ]
  if (schema === 'heart-rate-variability') {
    const to = variabilities.get(textIn(body['algorithm']).toLowerCase())
    if (!to) return [{ place, leftOut: 'a variability whose algorithm is neither RMSSD nor SDNN' }]
    return [quantityRecord(place, { to, quantity: body['heart_rate_variability'] }, frame)]
  }
  const statistic = textIn(body['descriptive_statistic'])
  const isCount = schema === 'step-count'
  if (statistic !== '' && (statistic !== 'average' || isCount))
    return [{ place, leftOut: 'a statistic of other data points' }]
  const whole = isCount ? asDaily(frame, 'sum') : statistic === 'average' ? asDaily(frame, 'avg') : frame
  return (schemas[schema] ?? []).map(([field, to]) => quantityRecord(place, { to, quantity: body[field] }, whole))
}

const isDataPoint = ({ text }: FileHead): boolean =>
  /"schema_id"\s*:/.test(text) && /"namespace"\s*:\s*"(omh|ieee)"/.test(text)

/** One point, a list of them, or a list within an answer. */
function pointsIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  const fields = fieldsIn(value)
  if (Array.isArray(fields['body'])) return fields['body']
  return fields['header'] === undefined ? undefined : [fields]
}

/** Data points of Open mHealth and of IEEE 1752.1. */
export const openMhealth = declareFormat({
  name: 'open-mhealth',
  title: 'Open mHealth and IEEE 1752.1',
  vendor: 'open-mhealth',
  files: 'data points as JSON: one, a list, or one a line',
  checked:
    'the published test data of openmhealth/schemas (Apache-2.0), points of another program (above), and files of our own writer',
  years: 'the published schemas, which have versions and no years',
  origin,
  kinds: [
    {
      recognises: isDataPoint,
      rows: jsonLinesOrRows(pointsIn),
      ...dataPoints,
    },
  ],
  leftOut: [
    ['minimum, maximum, median and the like', 'statistics of other data points'],
    ['sleep-duration, calories-burned', 'sums; whether rest is a part is not told'],
    ['a part of the day, a date without a time', 'is rejected: it is no interval'],
  ],
})
