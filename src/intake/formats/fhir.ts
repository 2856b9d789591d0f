import { declareFormat } from './declared-format.ts'
import { asDaily, quantityRecord } from './exchange-values.ts'
import type { FileHead, HealthRecord, ReadOptions } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { jsonLinesOrRows, jsonRows, type SourceRow } from './small-files.ts'
import { between, instantIn, localDay, momentAt, type RecordTime, wallMsIn } from './source-times.ts'
import { type DraftFrame, faultOf, fieldsIn, isEmpty, listIn, textIn } from './source-values.ts'

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
function spanOf(row: SourceRow, localInstant: ReadOptions['localInstant']): RecordTime | undefined {
  const { effectiveDateTime: date, effectiveInstant, effectivePeriod } = row
  const { start, end } = fieldsIn(effectivePeriod)
  const dayMs = /^\d{4}-\d\d-\d\d$/.test(textIn(date)) ? wallMsIn(date) : undefined
  return (
    momentAt(instantIn(date ?? effectiveInstant)) ??
    between(instantIn(start), instantIn(end)) ??
    localDay(dayMs, localInstant)
  )
}

/** The person of the file: of the first observation in it. */
const firstSubject = ({ text }: FileHead): string | undefined =>
  /"subject"\s*:\s*\{[^{}]*?"reference"\s*:\s*"([^"]{1,200})"/.exec(text)?.[1]

function recordsOf(row: SourceRow, place: string, { head, localInstant }: ReadOptions): readonly HealthRecord[] {
  if (row['resourceType'] === undefined) return faultOf(place, 'no resource: it has no resourceType', {})
  if (row['resourceType'] !== 'Observation') return [{ place, leftOut: 'a resource that is no Observation' }]
  if (withoutMeaning.has(textIn(row['status']))) return [{ place, leftOut: 'an observation that does not count' }]
  const [person, subject] = [firstSubject(head), textIn(fieldsIn(row['subject'])['reference'])]
  if (person !== undefined && subject !== '' && subject !== person)
    return faultOf(place, 'another person than that of the first observation', {})
  const parts = [row, ...listIn(row['component']).slice(0, COMPONENTS_MAX).map(fieldsIn)]
  const measured = parts.flatMap((part) => {
    const to = measureIn(part['code'])
    return to && !isEmpty(part['valueQuantity'])
      ? [{ to, quantity: part['valueQuantity'], unitField: 'code' as const }]
      : []
  })
  if (measured.length === 0) return [{ place, leftOut: 'an observation whose code has nothing for us' }]
  const span = spanOf(row, localInstant)
  if (!span) return faultOf(place, 'effectiveDateTime or effectivePeriod: is none', {})
  return measured.flatMap((one) =>
    quantityRecord(place, one, asDaily(frameOf(row, span), one.to === 'steps' ? 'sum' : 'avg')),
  )
}

function frameOf(row: SourceRow, span: RecordTime): DraftFrame {
  return {
    ...origin,
    ...span,
    source: textIn(fieldsIn(row['device'])['display']) || origin.source,
    ownId: textIn(row['id']) || undefined,
    modifiedMs: instantIn(fieldsIn(row['meta'])['lastUpdated'] ?? row['issued'])?.atMs,
  }
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
  origin,
  kinds: [
    {
      recognises: isResource,
      rows: (file, head) => (isBundle(head) ? jsonRows : jsonLinesOrRows)(resourcesIn)(file, head),
      recordsOf,
      mapping: Object.entries(measures).map(([code, to]) => ({
        from: `LOINC ${code}`,
        to,
        note: to === 'steps' ? 'of a day they are told as daily' : undefined,
      })),
    },
  ],
  leftOut: [
    { from: 'an observation that is cancelled or entered in error', note: 'it does not count' },
    { from: 'observations of another subject than the first', note: 'an import is of one person: they are rejected' },
    { from: 'sleep and exercise', note: 'their codes tell durations, not when' },
    { from: 'any other code or resource', note: 'nothing is derived from it' },
  ],
})
