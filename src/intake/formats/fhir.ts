import { declareFormat, type RowDeclaration } from './declared-format.ts'
import { asDaily, quantityRecord } from './exchange-values.ts'
import type { FileHead, ReadOptions } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { jsonLinesOrRows, jsonRows, type SourceRow } from './small-files.ts'
import { instantIn, instantsIn, localDay, momentAt, type RecordTime, wallMsIn } from './source-times.ts'
import { fieldsIn, isEmpty, listIn, textIn } from './source-values.ts'

/** By LOINC: the measure. A panel has no value of its own: its components have. */
const measures: Readonly<Record<string, MeasureName>> = {
  '8867-4': 'heart_rate',
  '40443-4': 'resting_heart_rate',
  '80404-7': 'heart_rate_variability_sdnn',
  '9279-1': 'respiratory_rate',
  '59408-5': 'oxygen_saturation',
  '2708-6': 'oxygen_saturation',
  '8480-6': 'blood_pressure_systolic',
  '8462-4': 'blood_pressure_diastolic',
  '8310-5': 'body_temperature',
  '29463-7': 'weight',
  '3141-9': 'weight',
  '8302-2': 'height',
  '39156-5': 'body_mass_index',
  '41982-0': 'body_fat',
  '2339-0': 'blood_glucose',
  '15074-8': 'blood_glucose',
  '55423-8': 'steps',
  '41950-7': 'steps',
}
const LOINC = 'http://loinc.org'
const withoutMeaning = new Set(['entered-in-error', 'cancelled', 'registered', 'unknown'])
const COMPONENTS_MAX = 50

const measureIn = (code: unknown): MeasureName | undefined =>
  listIn(fieldsIn(code)['coding'])
    .map(fieldsIn)
    .flatMap((coding) => (coding['system'] === LOINC ? [measures[textIn(coding['code'])]] : []))
    .find((measure) => measure !== undefined)

/** A moment, a period, or a date, which is a local day. */
function timeOf(row: SourceRow, options: ReadOptions): RecordTime | undefined {
  const { effectiveDateTime: date, effectiveInstant, effectivePeriod } = row
  const { start, end } = fieldsIn(effectivePeriod)
  const dayMs = /^\d{4}-\d\d-\d\d$/.test(textIn(date)) ? wallMsIn(date) : undefined
  return momentAt(instantIn(date ?? effectiveInstant)) ?? instantsIn(start, end) ?? localDay(dayMs, options)
}

/** The person of the file: of the first observation in it. */
const firstSubject = ({ text }: FileHead): string | undefined =>
  /"subject"\s*:\s*\{[^{}]*?"reference"\s*:\s*"([^"]{1,200})"/.exec(text)?.[1]

/** The measurements of an observation: its own, and those of its components. */
const measurementsOf = (row: SourceRow) =>
  [row, ...listIn(row['component']).slice(0, COMPONENTS_MAX).map(fieldsIn)].flatMap(({ code, valueQuantity }) => {
    const to = measureIn(code)
    return to && !isEmpty(valueQuantity) ? [{ to, quantity: valueQuantity }] : []
  })

const observations: RowDeclaration = {
  file: '',
  when(row, options) {
    const { resourceType, status, subject } = row
    if (resourceType === undefined) return { fault: 'no resource: it has no resourceType' }
    if (resourceType !== 'Observation') return { leftOut: 'a resource that is no Observation' }
    if (withoutMeaning.has(textIn(status))) return { leftOut: 'an observation that does not count' }
    const [first, person] = [firstSubject(options.head), textIn(fieldsIn(subject)['reference'])]
    if (first !== undefined && person !== '' && person !== first)
      return { fault: 'another person than that of the first observation' }
    if (measurementsOf(row).length === 0) return { leftOut: 'an observation whose code has nothing for us' }
    return timeOf(row, options) ?? { fault: 'effectiveDateTime or effectivePeriod: is none' }
  },
  frame: ({ device, id, meta, issued }) => ({
    source: textIn(fieldsIn(device)['display']) || origin.source,
    ownId: textIn(id) || undefined,
    modifiedMs: instantIn(fieldsIn(meta)['lastUpdated'] ?? issued)?.atMs,
  }),
  fields: [
    {
      recordsOf: (row, place, frame) =>
        measurementsOf(row).map(({ to, quantity }) =>
          quantityRecord(place, { to, quantity }, asDaily(frame, to === 'steps' ? 'sum' : 'avg')),
        ),
      mapping: Object.entries(measures).map(([code, to]) => ({
        from: `LOINC ${code}`,
        to,
        note: to === 'steps' ? 'of a day they are told as daily' : undefined,
      })),
    },
  ],
}

const origin = { source: 'FHIR', deviceType: 'unknown', recordingMethod: 'unknown' } as const

const isResource = ({ text }: FileHead): boolean => /"resourceType"\s*:\s*"(Bundle|Observation)"/.test(text)
const isBundle = ({ text }: FileHead): boolean => /"resourceType"\s*:\s*"Bundle"/.test(text)

function resourcesIn(value: unknown): readonly unknown[] | undefined {
  const fields = fieldsIn(value)
  if (fields['resourceType'] === 'Observation') return [fields]
  return Array.isArray(fields['entry']) ? fields['entry'].map((entry) => fieldsIn(entry)['resource']) : undefined
}

/** FHIR R4: observations by LOINC and UCUM. */
export const fhir = declareFormat({
  name: 'fhir',
  title: 'FHIR R4 Observation',
  vendor: 'fhir',
  files: 'a bundle, one observation, or NDJSON with one a line',
  checked: 'published test cases (above), and files of our own writer',
  years: 'R4, by the published test cases',
  origin,
  kinds: [
    {
      recognises: isResource,
      rows: (file, head) => (isBundle(head) ? jsonRows : jsonLinesOrRows)(resourcesIn)(file, head),
      ...observations,
    },
  ],
  leftOut: [
    ['an observation that is cancelled or entered in error', 'it does not count'],
    ['observations of another subject than the first', 'an import is of one person: they are rejected'],
    ['sleep and exercise', 'their codes tell durations, not when'],
    ['any other code or resource', 'nothing is derived from it'],
  ],
})
