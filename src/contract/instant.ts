import { z } from 'zod'

/** A point in time together with the offset it was written in: the offset tells which local day it belongs to. */
export type Instant = { readonly epochMs: number; readonly offsetMinutes: number }

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?$/

const offsetMinutesMax = 14 * 60

/** How many days each month has, when there is no 29th of February. */
export const monthDays: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** A log's date-times are looked at by several rules in a row, and neighbouring logs share them: reading one costs most. */
const recent = new Map<string, Instant>()
const recentMax = 4096

/** Reads ISO 8601. Without an offset it is UTC, a date alone is its midnight in UTC; anything else is undefined. */
export function parseInstant(text: string): Instant | undefined {
  const known = recent.get(text)
  if (known !== undefined) return known
  const instant = readInstant(text)
  if (recent.size >= recentMax) recent.clear()
  if (instant) recent.set(text, instant)
  return instant
}

function readInstant(text: string): Instant | undefined {
  if (text.length > 40) return undefined
  const match = pattern.exec(text)
  if (!match) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0))
  const offsetMinutes = parseOffset(match[8])
  if (offsetMinutes === undefined || !isDay(year, month, day) || !isTime(hour, minute, second)) return undefined
  const fractionMs = Math.floor(Number(`0.${match[7] ?? 0}`) * 1000)
  const local = new Date(0)
  local.setUTCFullYear(year ?? 0, (month ?? 1) - 1, day)
  local.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0, fractionMs)
  return { epochMs: local.getTime() - offsetMinutes * 60_000, offsetMinutes }
}

/** Minutes east of UTC, for `Z`, `+12:00`, `+1200` and `+12`; nothing on earth lies beyond fourteen hours. */
export function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || text === 'Z' || text === 'z') return 0
  const match = /^([+-])(\d{2}):?(\d{2})?$/.exec(text)
  if (!match) return undefined
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0)
  if (Number(match[3] ?? 0) > 59 || minutes > offsetMinutesMax) return undefined
  return match[1] === '-' ? -minutes : minutes
}

/** The calendar date, `YYYY-MM-DD`, on which an instant fell where it was written down. */
export function localDay(instant: Instant): string {
  return new Date(instant.epochMs + instant.offsetMinutes * 60_000).toISOString().slice(0, 10)
}

/** Writes an instant with its own offset: `2026-07-11T00:00:00+12:00`. */
export function formatInstant({ epochMs, offsetMinutes }: Instant): string {
  const local = new Date(epochMs + offsetMinutes * 60_000).toISOString().slice(0, -1).replace('.000', '')
  return `${local}${formatOffset(offsetMinutes)}`
}

export function formatOffset(offsetMinutes: number): string {
  const size = Math.abs(offsetMinutes)
  const hours = String(Math.floor(size / 60)).padStart(2, '0')
  return `${offsetMinutes < 0 ? '-' : '+'}${hours}:${String(size % 60).padStart(2, '0')}`
}

function isDay(year = 0, month = 0, day = 0): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return day <= (monthDays[month - 1] ?? 0) + (month === 2 && leap ? 1 : 0)
}

function isTime(hour = 0, minute = 0, second = 0): boolean {
  return hour <= 23 && minute <= 59 && second <= 59
}

const words = 'ISO 8601 date-time; without an offset it is UTC, a date alone is its midnight in UTC'

/** What is read, for a JSON schema: all of it but that most years have no 29 February. */
function patternOf(year: string): string {
  const day = '(0[1-9]|[12][0-9]'
  const date = `((0[13578]|1[02])-${day}|3[01])|(0[469]|11)-${day}|30)|02-${day}))`
  const time = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?'
  const offset = '([Zz]|[+-](0[0-9]|1[0-3])(:?[0-5][0-9])?|[+-]14(:?00)?)'
  return `^${year}-${date}([Tt]${time}${offset}?)?$`
}

const notAnInstant = 'must be an ISO 8601 date-time such as 2026-07-11T00:00:00+12:00'

/** A date-time kept as it was written. */
export const instantSchema = z
  .string({ error: notAnInstant })
  .max(40, { error: notAnInstant })
  .refine((text) => parseInstant(text) !== undefined, { error: notAnInstant })
  .meta({ description: words, pattern: patternOf('(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})') })

const writtenFrom = Date.UTC(1900, 0, 1)
const writtenTo = Date.UTC(2200, 0, 1)

/** A date-time that may be stored: within the centuries in which somebody's health can have been measured. */
export const writtenInstantSchema = instantSchema
  .refine(
    (text) => {
      const epochMs = parseInstant(text)?.epochMs ?? writtenFrom
      return epochMs >= writtenFrom && epochMs < writtenTo
    },
    { error: 'must lie between the years 1900 and 2199' },
  )
  .meta({ description: `${words}; from 1900 to 2199`, pattern: patternOf('(19|2[01])[0-9]{2}') })

/** What the service writes: always with an offset. */
export const answeredInstantSchema = z.iso.datetime({ offset: true })
