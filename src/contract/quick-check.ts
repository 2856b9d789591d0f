import { monthDays } from './instant.ts'

/**
 * Says yes only to what the schema of the stream surely accepts, at a fifth of its cost. A no says nothing:
 * then the schema itself is asked. A property test holds the two against one another.
 */
export type QuickCheck = (record: Readonly<Record<string, unknown>>) => boolean

/** One function of plain reads a stream: what a compiler makes of it is faster than any table of checks. */
export const quickChecks = {
  scores: (r) =>
    isName(r['type']) &&
    isPlainInstant(r['scoreDateTime']) &&
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
    isPlainInstant(r['startDateTime']) &&
    isPlainInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isText(r['category']) &&
    isText(r['periodicity']) &&
    isText(r['aggregation']) &&
    isText(r['value']) &&
    isText(r['unit']) &&
    isText(r['valueType']),
  archetypes: (r) =>
    isName(r['name']) &&
    isPlainInstant(r['startDateTime']) &&
    isPlainInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isText(r['value']) &&
    isText(r['dataType']) &&
    isNumber(r['ordinality']) &&
    isText(r['periodicity']) &&
    isNumber(r['version']),
  trends: (r) =>
    isName(r['name']) &&
    isName(r['category']) &&
    isPlainInstant(r['trendStartDateTime']) &&
    isPlainInstant(r['trendEndDateTime']) &&
    isText(r['id']) &&
    isText(r['state']) &&
    isFlag(r['isHigherBetter']) &&
    isText(r['unit']) &&
    isText(r['periodicity']) &&
    isList(r['data']),
  comparisons: (r) =>
    isName(r['name']) &&
    isName(r['category']) &&
    isPlainInstant(r['startDateTime']) &&
    isPlainInstant(r['endDateTime']) &&
    isText(r['id']) &&
    isNumber(r['value']) &&
    isFlag(r['isHigherBetter']) &&
    isText(r['unit']) &&
    isText(r['periodicity']) &&
    isList(r['data']),
  tags: (r) =>
    isName(r['type']) &&
    isName(r['name']) &&
    isPlainInstant(r['startDateTime']) &&
    isText(r['id']) &&
    isText(r['source']) &&
    isText(r['category']) &&
    isText(r['value']) &&
    isInstant(r['endDateTime']),
} satisfies Record<string, QuickCheck>

const isName = (value: unknown) => typeof value === 'string' && value !== ''
// No null here: for some of these fields the schema takes only what is absent.
const isText = (value: unknown) => value === undefined || typeof value === 'string'
const isNumber = (value: unknown) => value === undefined || (typeof value === 'number' && Number.isFinite(value))
const isFlag = (value: unknown) => value === undefined || typeof value === 'boolean'
const isList = (value: unknown) => value === undefined || Array.isArray(value)
const isInstant = (value: unknown) => value === undefined || value === null || isPlainInstant(value)

const DASH = 45
const PLUS = 43
const DOT = 46
const COLON = 58
const LETTER_T = 84
const LETTER_Z = 90
const SECONDS_END = 19

/**
 * `2026-07-11T00:00:00+12:00`, `…Z`, with or without a fraction, on any day but the 29th of February, so that no calendar
 * is needed. The rest goes the slow way.
 */
function isPlainInstant(value: unknown): boolean {
  if (typeof value !== 'string' || value.length < 20 || value.length > 35) return false
  if (value.charCodeAt(4) !== DASH || value.charCodeAt(7) !== DASH || value.charCodeAt(10) !== LETTER_T) return false
  if (value.charCodeAt(13) !== COLON || value.charCodeAt(16) !== COLON) return false
  const month = two(value, 5)
  const day = two(value, 8)
  if (two(value, 0) < 1 || two(value, 2) < 0 || !(day >= 1 && day <= (monthDays[month - 1] ?? 0))) return false
  if (!isWithin(two(value, 11), 23) || !isWithin(two(value, 14), 59) || !isWithin(two(value, 17), 59)) return false
  return isOffset(value, value.charCodeAt(SECONDS_END) === DOT ? afterFraction(value) : SECONDS_END)
}

function isOffset(text: string, at: number): boolean {
  if (text.charCodeAt(at) === LETTER_Z) return text.length === at + 1
  if (text.charCodeAt(at) !== PLUS && text.charCodeAt(at) !== DASH) return false
  if (text.length !== at + 6 || text.charCodeAt(at + 3) !== COLON) return false
  return isWithin(two(text, at + 1), 13) && isWithin(two(text, at + 4), 59)
}

/** Where a fraction of one to nine digits ends; at the end of the text where it is none. */
function afterFraction(text: string): number {
  const from = SECONDS_END + 1
  let at = from
  while (digit(text, at) >= 0) at += 1
  return at > from && at - from <= 9 ? at : text.length
}

function isWithin(number: number, max: number): boolean {
  return number >= 0 && number <= max
}

/** Two digits as a number, below zero where they are not two digits. */
function two(text: string, at: number): number {
  const tens = digit(text, at)
  const ones = digit(text, at + 1)
  return tens < 0 || ones < 0 ? -1 : tens * 10 + ones
}

function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - 48
  return value >= 0 && value <= 9 ? value : -1
}
