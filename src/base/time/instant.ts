import { DAY, MINUTE } from './units.ts'

/** A point in time together with the offset it was written in: the offset decides which local day it belongs to. */
export type Instant = { readonly epochMs: number; readonly offsetMinutes: number }

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/

const offsetMinutesMax = 14 * 60

/** Days of each month in a year without a 29th of February. */
export const daysInMonths: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The two digits at a position of the text as a number. NaN when the characters are no digits: every comparison fails. */
export function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Cache: several rules parse the same date-times of a log, and neighbouring logs share them. Cleared when it is full. */
const parsedInstants = new Map<string, Instant>()
const parsedInstantsMax = 4096

/** Parses ISO 8601. Without an offset it is UTC, a date alone is its midnight in UTC; any other text gives undefined. */
export function parseInstant(text: string): Instant | undefined {
  const cached = parsedInstants.get(text)
  if (cached !== undefined) return cached
  const instant = parseUncached(text)
  if (parsedInstants.size >= parsedInstantsMax) parsedInstants.clear()
  if (instant) parsedInstants.set(text, instant)
  return instant
}

function parseUncached(text: string): Instant | undefined {
  if (text.length > 40) return undefined
  return parseCommon(text) ?? parseAny(text)
}

const code = (sign: string) => sign.charCodeAt(0)
const [dash, colon, upperT, upperZ, plus] = [code('-'), code(':'), code('T'), code('Z'), code('+')]

/** Reads the two common forms, `2026-07-11T00:00:00Z` and `2026-07-11T00:00:00+12:00`; undefined for all else, right or wrong. */
function parseCommon(text: string): Instant | undefined {
  const sign = text.charCodeAt(19)
  const isUtc = sign === upperZ && text.length === 20
  if (!isUtc && !((sign === plus || sign === dash) && text.length === 25 && text.charCodeAt(22) === colon))
    return undefined
  if (text.charCodeAt(4) !== dash || text.charCodeAt(7) !== dash || text.charCodeAt(10) !== upperT) return undefined
  if (text.charCodeAt(13) !== colon || text.charCodeAt(16) !== colon) return undefined
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)]
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)]
  const offset = isUtc ? 0 : twoDigits(text, 20) * 60 + twoDigits(text, 23)
  // `Date.UTC` takes the years before 100 for those of the twentieth century.
  if (!(year >= 100 && isDay(year, month, day) && isTime(hour, minute, second))) return undefined
  if (!(offset <= offsetMinutesMax && (isUtc || twoDigits(text, 23) <= 59))) return undefined
  const offsetMinutes = sign === dash ? -offset : offset
  return { epochMs: Date.UTC(year, month - 1, day, hour, minute, second) - offsetMinutes * MINUTE, offsetMinutes }
}

function parseAny(text: string): Instant | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0))
  const offsetMinutes = parseOffset(match[8])
  if (offsetMinutes === undefined || !isDay(year, month, day) || !isTime(hour, minute, second)) return undefined
  const fractionMs = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000)
  const local = new Date(0)
  local.setUTCFullYear(year ?? 0, (month ?? 1) - 1, day)
  local.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0, fractionMs)
  return { epochMs: local.getTime() - offsetMinutes * MINUTE, offsetMinutes }
}

const storableFromMs = Date.UTC(1900, 0, 1)
const storableBeforeMs = Date.UTC(2200, 0, 1)

/** From 1900 to 2199: the centuries in which a person's health can have been measured. */
export const isStorable = ({ epochMs }: Instant): boolean => epochMs >= storableFromMs && epochMs < storableBeforeMs

/** A calendar day of these centuries, such as 2026-07-11. */
export function isStorableDay(text: string): boolean {
  const midnight = text.length === 10 ? parseInstant(text) : undefined
  return midnight !== undefined && isStorable(midnight)
}

/** Parses a date-time that a schema has accepted before; throws a RangeError for any other text. */
export function checkedInstant(text: string): Instant {
  const instant = parseInstant(text)
  if (!instant) throw new RangeError('parse date-time: no schema accepted it before')
  return instant
}

/** Minutes east of UTC, for `Z`, `+12:00`, `+1200` and `+12`. No place on earth is more than fourteen hours from UTC. */
export function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || text === 'Z' || text === 'z') return 0
  const match = /^([+-])(\d{2}):?(\d{2})?$/.exec(text)
  if (!match) return undefined
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0)
  if (Number(match[3] ?? 0) > 59 || minutes > offsetMinutesMax) return undefined
  return match[1] === '-' ? -minutes : minutes
}

/** The date that was written last: neighbouring logs share theirs. */
let written = { day: Number.NaN, text: '' }

/** The calendar date, `YYYY-MM-DD`, of an instant in its own offset. */
export function localDateOf({ epochMs, offsetMinutes }: Instant): string {
  const day = Math.floor((epochMs + offsetMinutes * MINUTE) / DAY)
  if (day !== written.day) written = { day, text: new Date(day * DAY).toISOString().slice(0, 10) }
  return written.text
}

/** Writes an instant with its own offset: `2026-07-11T00:00:00+12:00`. */
export function formatInstant({ epochMs, offsetMinutes }: Instant): string {
  const local = new Date(epochMs + offsetMinutes * MINUTE).toISOString()
  return `${local.slice(0, local.endsWith('.000Z') ? -5 : -1)}${formatOffset(offsetMinutes)}`
}

export function formatOffset(offsetMinutes: number): string {
  const minutes = Math.abs(offsetMinutes)
  const hours = String(Math.floor(minutes / 60)).padStart(2, '0')
  return `${offsetMinutes < 0 ? '-' : '+'}${hours}:${String(minutes % 60).padStart(2, '0')}`
}

/** Whether the calendar has this day. */
export function isDay(year = 0, month = 0, day = 0): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return day <= (daysInMonths[month - 1] ?? 0) + (month === 2 && leap ? 1 : 0)
}

export function isTime(hour = 0, minute = 0, second = 0): boolean {
  return hour <= 23 && minute <= 59 && second <= 59
}
