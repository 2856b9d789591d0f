import { daysInMonths, twoDigits } from '../time/instant.ts'
import { DAY } from '../time/units.ts'
import { logDaysMax, logTypes, recordingMethods } from './data-log.ts'
import { isValueOf } from './log-value-bounds.ts'
import { durationMsOf } from './query-shapes.ts'
import { isCleanText } from './text.ts'

/**
 * True only for records that the schema of the stream surely accepts, at a fifth of the cost of the schema. After false
 * the schema itself decides. A property test compares both.
 */
export type QuickCheck = (record: Readonly<Record<string, unknown>>) => boolean

/** One function of plain comparisons for each stream: compiled, it is faster than a table of checks. */
export const quickChecks = {
  scores: (r) =>
    isName(r['type']) &&
    isCommonInstant(r['scoreDateTime']) &&
    isText(r['id']) &&
    isNumber(r['value']) &&
    isNumber(r['score']) &&
    isText(r['state']) &&
    isInstant(r['createdAt']) &&
    isInstant(r['createdAtUtc']) &&
    isList(r['factors']) &&
    isList(r['dataSources']) &&
    isNumber(r['version']),
  biomarkers: (r) =>
    isName(r['type']) &&
    isCommonInstant(r['startDateTime']) &&
    isCommonInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isText(r['category']) &&
    isText(r['periodicity']) &&
    isText(r['aggregation']) &&
    isText(r['value']) &&
    isText(r['unit']) &&
    isText(r['valueType']),
  archetypes: (r) =>
    isName(r['name']) &&
    isCommonInstant(r['startDateTime']) &&
    isCommonInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isText(r['value']) &&
    isText(r['dataType']) &&
    isNumber(r['ordinality']) &&
    isText(r['periodicity']) &&
    isNumber(r['version']),
  trends: (r) =>
    isName(r['name']) &&
    isName(r['category']) &&
    isCommonInstant(r['trendStartDateTime']) &&
    isCommonInstant(r['trendEndDateTime']) &&
    isText(r['id']) &&
    isText(r['state']) &&
    isBoolean(r['isHigherBetter']) &&
    isText(r['unit']) &&
    isText(r['periodicity']) &&
    isList(r['data']),
  comparisons: (r) =>
    isName(r['name']) &&
    isName(r['category']) &&
    isCommonInstant(r['startDateTime']) &&
    isCommonInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isNumber(r['value']) &&
    isBoolean(r['isHigherBetter']) &&
    isText(r['unit']) &&
    isText(r['periodicity']) &&
    isList(r['data']),
  tags: (r) =>
    isName(r['type']) &&
    isName(r['name']) &&
    isCommonInstant(r['startDateTime']) &&
    isText(r['id']) &&
    isText(r['source']) &&
    isText(r['category']) &&
    isText(r['value']) &&
    isInstant(r['endDateTime']),
  dataLogs: (r) =>
    isShortText(r['dataType'], 100) &&
    typeof r['value'] === 'number' &&
    isValueOf(r['dataType'], r['value']) &&
    knownLogTypes.has(r['logType']) &&
    knownMethods.has(r['recordingMethod']) &&
    isShortText(r['unit'], 50) &&
    isShortText(r['source'], 200) &&
    isShortText(r['deviceType'], 100) &&
    isLogSpan(r['startDateTime'], r['endDateTime']) &&
    (isNothing(r['id']) || isUuid(r['id'])) &&
    (isNothing(r['deviceId']) || isShortText(r['deviceId'], 200)) &&
    (isNothing(r['sourceId']) || isShortText(r['sourceId'], 200)) &&
    (isNothing(r['periodicity']) || r['periodicity'] === 'hourly' || r['periodicity'] === 'daily') &&
    (isNothing(r['aggregation']) || r['aggregation'] === 'sum' || r['aggregation'] === 'avg') &&
    (isNothing(r['modifiedDateTime']) || isRecentInstant(r['modifiedDateTime'])) &&
    isNothing(r['postDateTime']) &&
    isNothing(r['additionalProperties']) &&
    isNothing(r['parentId']),
} satisfies Record<string, QuickCheck>

const isName = (value: unknown) => typeof value === 'string' && value !== ''
// Null is not accepted: for some of these fields the schema accepts a missing value only.
const isText = (value: unknown) => value === undefined || typeof value === 'string'
const isNumber = (value: unknown) => value === undefined || (typeof value === 'number' && Number.isFinite(value))
const isBoolean = (value: unknown) => value === undefined || typeof value === 'boolean'
const isList = (value: unknown) => value === undefined || Array.isArray(value)
const isNothing = (value: unknown) => value === undefined || value === null
const isShortText = (value: unknown, charactersMax: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= charactersMax && isCleanText(value)
const isUuid = (value: unknown) => typeof value === 'string' && uuid.test(value)
const uuid = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const knownLogTypes: ReadonlySet<unknown> = new Set(logTypes)
const knownMethods: ReadonlySet<unknown> = new Set(recordingMethods)

/** A date-time of 1901 to 1999 or of 2000 to 2099 can be stored in any offset. */
const isRecentInstant = (value: unknown): value is string =>
  isCommonInstant(value) && (value.startsWith('20') || (value.startsWith('19') && !value.startsWith('1900')))

function isLogSpan(start: unknown, end: unknown): boolean {
  if (!isRecentInstant(start)) return false
  if (end === start) return true
  const lengthMs = isRecentInstant(end) ? durationMsOf(start, end) : undefined
  return lengthMs !== undefined && lengthMs >= 0 && lengthMs <= logDaysMax * DAY
}

const isInstant = (value: unknown) => value === undefined || value === null || isCommonInstant(value)

const DASH = 45
const PLUS = 43
const DOT = 46
const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90
const SECONDS_END = 19

/**
 * `2026-07-11T00:00:00+12:00`, `…Z`, with or without a fraction, on any day but the 29th of February, so that no calendar
 * is needed. The schema decides about every other text.
 */
function isCommonInstant(value: unknown): value is string {
  if (typeof value !== 'string' || value.length < 20 || value.length > 35) return false
  if (value.charCodeAt(4) !== DASH || value.charCodeAt(7) !== DASH || value.charCodeAt(10) !== LETTER_T) return false
  if (value.charCodeAt(13) !== COLON || value.charCodeAt(16) !== COLON) return false
  const month = twoDigits(value, 5)
  const day = twoDigits(value, 8)
  if (!(twoDigits(value, 0) >= 1 && twoDigits(value, 2) >= 0)) return false
  if (!(day >= 1 && day <= (daysInMonths[month - 1] ?? 0))) return false
  if (!isWithin(twoDigits(value, 11), 23) || !isWithin(twoDigits(value, 14), 59) || !isWithin(twoDigits(value, 17), 59))
    return false
  return isOffset(value, value.charCodeAt(SECONDS_END) === DOT ? endOfFraction(value) : SECONDS_END)
}

function isOffset(text: string, at: number): boolean {
  if (text.charCodeAt(at) === LETTER_Z) return text.length === at + 1
  if (text.charCodeAt(at) !== PLUS && text.charCodeAt(at) !== DASH) return false
  if (text.length !== at + 6 || text.charCodeAt(at + 3) !== COLON) return false
  return isWithin(twoDigits(text, at + 1), 13) && isWithin(twoDigits(text, at + 4), 59)
}

/** The end of a fraction of one to nine digits; the end of the text when there is no such fraction. */
function endOfFraction(text: string): number {
  const from = SECONDS_END + 1
  let at = from
  while (digit(text, at) >= 0) at += 1
  return at > from && at - from <= 9 ? at : text.length
}

function isWithin(number: number, max: number): boolean {
  return number >= 0 && number <= max
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - 48
  return value >= 0 && value <= 9 ? value : -1
}
