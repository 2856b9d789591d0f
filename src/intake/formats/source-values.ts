import { parseInstant, parseOffset } from '../../base/time/instant.ts'
import { DAY, MINUTE, SECOND } from '../../base/time/units.ts'
import type { HealthRecord, LogDraft, ReadOptions, SourceInstant } from './export-format.ts'
import { type MeasureName, measureOf, type SessionName } from './measures.ts'
import type { SourceRow } from './small-files.ts'
import { conversionTo } from './source-units.ts'

const TEXT_SHOWN_MAX = 500

/** The outcome of a row that does not fit. */
export const faultOf = (place: string, fault: string, row: SourceRow): HealthRecord[] => [
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

export const utc = (atMs: number): SourceInstant => ({ atMs, offsetMinutes: 0 })

export const later = ({ atMs, offsetMinutes }: SourceInstant, byMs: number): SourceInstant => ({
  atMs: atMs + byMs,
  offsetMinutes,
})

export type RecordTime = { readonly start: SourceInstant; readonly end: SourceInstant }

export const momentAt = <T extends SourceInstant | undefined>(at: T) => at && { start: at, end: at }

export const between = (start: SourceInstant | undefined, end: SourceInstant | undefined): RecordTime | undefined =>
  start && end && { start, end }

export const lastingFrom = <T extends SourceInstant | undefined>(start: T, lengthMs: number) =>
  start && { start, end: later(start, lengthMs) }

/**
 * A local day: to its last second, but no longer than any other day. On the day of 25 hours it ends an hour early, for a log
 * that is longer than a day counts nowhere.
 */
export const dayBetween = (start: SourceInstant, end: SourceInstant): RecordTime => ({
  start,
  end: end.atMs - start.atMs > DAY ? later(start, DAY - SECOND) : end,
})

/** The day that begins when a clock on the wall shows this. */
export const localDay = (
  wallMs: number | undefined,
  localInstant: ReadOptions['localInstant'],
): RecordTime | undefined =>
  wallMs === undefined ? undefined : dayBetween(localInstant(wallMs), localInstant(wallMs + DAY - SECOND))

const withOffset = /Z|[+-]\d\d:?\d\d$/

/** A time that is written with its offset; undefined for a time of the clock on the wall. */
export function instantIn(value: unknown): SourceInstant | undefined {
  if (typeof value !== 'string' || !withOffset.test(value)) return undefined
  const instant = parseInstant(value.trim().replace(' ', 'T'))
  return instant && { atMs: instant.epochMs, offsetMinutes: instant.offsetMinutes }
}

/** A time of the clock on the wall, without an offset, as the milliseconds of a clock that shows it in UTC. */
export const wallMsIn = (value: unknown): number | undefined =>
  typeof value === 'string' && !withOffset.test(value)
    ? parseInstant(value.trim().replace(' ', 'T'))?.epochMs
    : undefined

/** `UTC+02:00`, `UTC-0500`, `UTCZ` or the offset alone, as minutes. */
export const offsetMinutesIn = (value: unknown): number | undefined =>
  typeof value === 'string' && value.trim() !== ''
    ? parseOffset(value.trim().replace(/^(UTC|GMT)/, '') || 'Z')
    : undefined

/** The instant at which a clock with this offset (minutes ahead of UTC) shows this. */
export const instantAt = (wallMs: number | undefined, offsetMinutes: number | undefined): SourceInstant | undefined =>
  wallMs === undefined || offsetMinutes === undefined
    ? undefined
    : { atMs: wallMs - offsetMinutes * MINUTE, offsetMinutes }

/** All of a draft that the records of a row share. */
export type DraftFrame = Omit<LogDraft, 'dataType' | 'value'>

/** A measurement in our unit, or a fault where the unit is not known for the measure. */
export function measuredRecord(
  place: string,
  { to, unit, value }: { readonly to: MeasureName; readonly unit: string; readonly value: number },
  frame: DraftFrame,
): HealthRecord {
  const conversion = conversionTo(measureOf(to).unit, unit)
  if (!conversion) return { place, fault: 'unit: is not known for this type', text: '' }
  return { place, draft: { dataType: to, value: value * conversion.scale + conversion.shift, ...frame } }
}

/** A record that lasts from its start to its end: a stage of sleep, a session of exercise. */
export const lastingRecord = (place: string, dataType: MeasureName | SessionName, frame: DraftFrame): HealthRecord => ({
  place,
  draft: { dataType, value: (frame.end.atMs - frame.start.atMs) / MINUTE, ...frame },
})

/** `Functional Strength Training` is `exercise_session_functional_strength_training`. */
export function sessionName(text: unknown): SessionName {
  const words = textIn(text)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s/_-]+/g, '_')
    .toLowerCase()
  return /^[a-z0-9_]{1,60}$/.test(words) ? `exercise_session_${words}` : 'exercise_session_other'
}

type WallTime = { year: number; month: number; day: number; hour: number; minute: number; second: number }

/** The milliseconds of a clock that shows this in UTC; undefined for a date or a time that there is not, and before 1900. */
export function wallClockMs({ year, month, day, hour, minute, second }: WallTime): number | undefined {
  // JavaScript takes a thirteenth month for the next January, and the year 26 for 1926.
  if (!(year >= 1900 && month >= 1 && month <= 12 && hour <= 23 && minute <= 59 && second <= 59)) return undefined
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  return new Date(ms).getUTCDate() === day ? ms : undefined
}
