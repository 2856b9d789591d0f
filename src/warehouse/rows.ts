import { hash } from 'node:crypto'
import { monthDays, parseInstant } from '../contract/instant.ts'
import type { Span } from '../coverage.ts'
import { type Edges, isInside, reachesInto } from '../planner.ts'
import type { Column, PulledStream } from '../stream.ts'
import { DAY } from '../window.ts'
import type { Cell } from './binary-arrays.ts'

/** A record as upstream sent it: its exact text, and the same parsed. */
export type SourceRecord = { readonly raw: string; readonly fields: Readonly<Record<string, unknown>> }

export type OddRecord = { readonly path: string; readonly reason: string; readonly raw: string }

/** A record made ready for its table: one cell per catalogue column, in that order. Periods in microseconds since 1970. */
export type Row = {
  readonly cells: readonly Cell[]
  readonly key: string
  readonly startMicros: number | null
  readonly endMicros: number | null
  readonly localDateMs: number | null
  readonly raw: string
  /** Eight bytes, as characters. */
  readonly digest: string
}

/** Makes rows of records. What lacks a part of its key becomes odd, and costs its neighbours nothing. */
export function toRows(stream: PulledStream, records: readonly SourceRecord[]): { rows: Row[]; odd: OddRecord[] } {
  const rows = new Map<string, Row>()
  const odd: OddRecord[] = []
  for (const record of records) {
    const row = toRow(stream, record)
    if ('reason' in row) odd.push(row)
    // Upstream sends newest first; of two records of one name in one answer the first is the one it means.
    else if (!rows.has(row.key)) rows.set(row.key, row)
  }
  return { rows: [...rows.values()], odd }
}

function toRow(stream: PulledStream, record: SourceRecord): Row | OddRecord {
  const cells: Cell[] = []
  let key = ''
  let start: number | null = null
  let end: number | null = null
  let startText = ''
  for (const column of stream.columns) {
    const found = pick(column, record.fields)
    const cell = toCell(column, found)
    if (cell === undefined || (cell === null && column.key)) return misfit(column, found, record.raw)
    if (column.key && typeof cell === 'string' && cell.length > KEY_LENGTH_MAX) return misfit(column, found, record.raw)
    cells.push(cell)
    if (column.key) key += `${cell}\u0000`
    if (column.name === stream.startColumn) {
      start = cell as number | null // an instant's cell is microseconds
      startText = String(found)
    }
    if (column.name === stream.endColumn) end = cell as number | null
  }
  return {
    cells,
    key,
    startMicros: start,
    endMicros: end ?? start,
    localDateMs: localDate(startText),
    raw: record.raw,
    digest: hash('sha1', record.raw, 'binary').slice(0, 8),
  }
}

function pick(column: Column, fields: Readonly<Record<string, unknown>>): unknown {
  for (const name of column.from) {
    const value = fields[name]
    if (value !== undefined && value !== null) return value
  }
  return column.absent
}

/** Undefined where the value is of the wrong kind for a key; null where it is missing or, outside keys, unusable. */
function toCell(column: Column, value: unknown): Cell | undefined {
  if (value === undefined || value === null) return null
  const cell = cellOf(column.type, value)
  return cell === undefined && !column.key ? null : cell
}

function cellOf(type: Column['type'], value: unknown): Cell | undefined {
  switch (type) {
    case 'text':
      if (typeof value === 'string') return value
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
    case 'instant':
      return typeof value === 'string' ? toMicros(value) : undefined
    case 'number': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      return typeof number === 'number' && Number.isFinite(number) ? number : undefined
    }
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
  }
}

function misfit(column: Column, found: unknown, raw: string): OddRecord {
  const path = column.from[0] ?? column.name
  const reason =
    found === undefined || found === null ? 'missing, and the record has no name without it' : `not ${kindOf(column)}`
  return { path, reason, raw }
}

/** An index of Postgres holds no key of more than 2,700 bytes; nothing that names a record comes near this. */
const KEY_LENGTH_MAX = 200

function kindOf({ type, key }: Column): string {
  if (type === 'instant') return 'a date-time that can be stored'
  return key && type === 'text' ? `a text of at most ${KEY_LENGTH_MAX} characters` : `a ${type}`
}

const usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)$/

/** Microseconds since 1970: the warehouse keeps what a JavaScript date would cut off. */
export function toMicros(text: string): number | undefined {
  return plainMicros(text) ?? carefulMicros(text)
}

function carefulMicros(text: string): number | undefined {
  const match = usual.exec(text)
  // Date.parse takes the 30th of February for the 2nd of March.
  const epochMs = match && plainDay(text) !== undefined ? Date.parse(text) : parseInstant(text)?.epochMs
  if (epochMs === undefined || Number.isNaN(epochMs)) return undefined
  const beyondMs = match?.[1] && match[1].length > 3 ? Number(match[1].slice(3, 6).padEnd(3, '0')) : 0
  const micros = epochMs * 1000 + beyondMs
  return Number.isSafeInteger(micros) ? micros : undefined
}

const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

/**
 * `2026-07-11T00:00:00Z` or with an offset instead: nearly all there is, at a quarter of the cost. Undefined says nothing
 * about the others.
 */
function plainMicros(text: string): number | undefined {
  const { length } = text
  if (length !== 20 && length !== 25) return undefined
  if (text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return undefined
  const [hours, minutes, seconds] = [two(text, 11), two(text, 14), two(text, 17)]
  if (!(hours <= 23 && minutes <= 59 && seconds <= 59)) return undefined
  const day = plainDay(text)
  const offset = length === 20 ? zulu(text) : plainOffset(text)
  if (day === undefined || offset === undefined) return undefined
  return (day * 86_400 + hours * 3600 + minutes * 60 + seconds - offset) * 1_000_000
}

/** The day that such a text begins with, in days since 1970. */
function plainDay(text: string): number | undefined {
  const year = two(text, 0) * 100 + two(text, 2)
  const month = two(text, 5)
  const day = two(text, 8)
  if (!(year > 1900 && year <= 2099 && month >= 1 && day >= 1) || text[4] !== '-' || text[7] !== '-') return undefined
  // From 1901 to 2099 every fourth year is a leap year.
  const leapDay = year % 4 === 0 ? 1 : 0
  const daysOfMonth = (monthDays[month - 1] ?? 0) + (month === 2 ? leapDay : 0)
  if (!(day <= daysOfMonth)) return undefined
  const leaps = Math.floor((year - 1969) / 4) + (month > 2 ? leapDay : 0)
  return (year - 1970) * 365 + leaps + (daysBefore[month - 1] ?? 0) + day - 1
}

const zulu = (text: string) => (text[19] === 'Z' ? 0 : undefined)

function plainOffset(text: string): number | undefined {
  const sign = text[19] === '+' ? 1 : -1
  if ((sign < 0 && text[19] !== '-') || text[22] !== ':') return undefined
  const seconds = two(text, 20) * 3600 + two(text, 23) * 60
  return seconds <= 14 * 3600 && two(text, 23) <= 59 ? sign * seconds : undefined
}

/** Two digits as a number; NaN, which is neither above nor below anything, where they are not two digits. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Shorter than this, a record can neither be nested too deeply for Postgres nor hold too long a number. */
const PLAIN_LENGTH_MAX = 8000

/**
 * Whether this JSON might be none to Postgres, which reads it as `jsonb` whenever somebody looks: it knows no U+0000,
 * no half characters, no numbers beyond a hundred thousand digits and no endless nesting. Of those that might it is
 * asked before they are stored.
 */
export const isDoubtful = ({ raw }: Row): boolean =>
  raw.length > PLAIN_LENGTH_MAX ||
  (raw.includes('\\u') && /\\u(?:0000|[dD][89a-fA-F])/.test(raw)) ||
  /(?<=\d)[eE][+-]?\d{4}/.test(raw)

/** The record's period in milliseconds; without bounds in streams that have none. */
export const periodOf = (row: Row): Span => ({
  from: row.startMicros === null ? Number.NEGATIVE_INFINITY : row.startMicros / 1000,
  to: row.endMicros === null ? Number.POSITIVE_INFINITY : row.endMicros / 1000,
})

/** A short name for a record among those of one person and stream; `statements.ts` makes the same of a stored one. */
export const shortNameOf = (row: Row): number =>
  hash('md5', row.key.replaceAll('\u0000', NAME_SEPARATOR), 'buffer').readInt32BE(0)

/** What Postgres, which knows no U+0000, can put between the parts of a key as well. */
const NAME_SEPARATOR = '\u001f'

/** What a reading holds of records that reach beyond its window: neighbouring readings may hold them too. */
export function edgesOf(rows: readonly Row[], window: Span): Edges {
  const crossing = rows.filter((row) => row.startMicros !== null && !isInside(periodOf(row), window))
  return {
    crossing: crossing.map(shortNameOf),
    reachesBack: crossing.some((row) => reachesInto(periodOf(row), window)),
  }
}

/** The calendar day the record carries in its own offset, as an instant of that date in UTC. */
function localDate(text: string): number | null {
  const day = plainDay(text)
  const dayMs = day === undefined ? Date.parse(text.slice(0, 10)) : day * DAY
  return Number.isNaN(dayMs) ? null : dayMs
}

/** Eight bytes that tell whether a record changed. They decide what is written, not who anybody is. */
export function digestOf(raw: string): Buffer {
  return hash('sha1', raw, 'buffer').subarray(0, 8)
}
