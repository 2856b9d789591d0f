import { MINUTE } from '../../base/time/units.ts'
import type { HealthRecord, LogDraft, Origin, RecordPlace } from './export-format.ts'
import { type MeasureName, measureOf, type SessionName } from './measures.ts'
import type { SourceRow } from './small-files.ts'
import { conversionTo } from './source-units.ts'

const TEXT_SHOWN_MAX = 500

/** The outcome of a row that does not fit. */
export const faultOf = (place: RecordPlace, fault: string, row: SourceRow): HealthRecord[] => [
  { place, fault, text: JSON.stringify(row).slice(0, TEXT_SHOWN_MAX) },
]

/** NaN for everything that is no number, the empty text too. */
export const numberIn = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN

export const textIn = (value: unknown): string => (typeof value === 'string' ? value : '')

export const fieldsIn = (value: unknown): SourceRow => (typeof value === 'object' && value !== null ? { ...value } : {})

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

/** The outcome of a window of sleep whose record does not say that somebody slept in it. */
export const noSleepMeasured = { leftOut: 'a window of sleep in which no sleep was measured' } as const

/** Whether one of these fields has a number above 0. */
export const isAnyPositive = (row: SourceRow, fields: readonly string[]): boolean =>
  fields.some((name) => numberIn(row[name]) > 0)

/** All of a draft that the records of a row share. */
export type DraftFrame = Origin & Pick<LogDraft, 'start' | 'end'>

/** A measurement in our unit, or a fault where the unit is not known for the measure. */
export function measuredRecord(
  place: RecordPlace,
  { to, unit, value }: { readonly to: MeasureName; readonly unit: string; readonly value: number },
  frame: DraftFrame,
): HealthRecord {
  const conversion = conversionTo(measureOf(to).unit, unit)
  if (!conversion) return { place, fault: 'unit: is not known for this type', text: '' }
  const { start, end } = frame
  return {
    place,
    draft: { dataType: to, value: value * conversion.scale + conversion.shift, start, end, origin: frame },
  }
}

/** A record that lasts from its start to its end: a stage of sleep, a session of exercise. */
export function lastingRecord(
  place: RecordPlace,
  dataType: MeasureName | SessionName,
  frame: DraftFrame,
): HealthRecord {
  const { start, end } = frame
  return { place, draft: { dataType, value: (end.atMs - start.atMs) / MINUTE, start, end, origin: frame } }
}

/** `Functional Strength Training` is `exercise_session_functional_strength_training`. */
export function sessionName(text: unknown): SessionName {
  const name = textIn(text)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s/_-]+/g, '_')
    .toLowerCase()
  return /^[a-z0-9_]{1,60}$/.test(name) ? `exercise_session_${name}` : 'exercise_session_other'
}
