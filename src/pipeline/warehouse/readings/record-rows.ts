import { hash } from 'node:crypto'
import { digestCharactersOf } from '../../../base/text/digest.ts'
import { epochDayOf, instantMicrosOf } from '../../../base/time/instant-micros.ts'
import type { Span } from '../../../base/time/spans.ts'
import { DAY } from '../../../base/time/units.ts'
import type { SettleRule } from '../../ledger/awaiting-upstream.ts'
import { type Admission, type CoverageChange, isInside, reachesInto, type WindowEdges } from '../../ledger/judge.ts'
import type { ReadingDrift } from '../../transfer/misfits.ts'
import type { InvalidRecord, Reading, SourceRecord } from '../../transfer/reading.ts'
import type { Column, Fields, PulledStream } from '../../transfer/stream.ts'
import type { ColumnValue } from '../postgres/binary-format.ts'

/** A record as a row of its table: one cell for each column of the catalogue, in that order. */
export type RecordRow = {
  readonly cells: readonly ColumnValue[]
  /** The values of the key columns, each with U+0000 after it. */
  readonly key: string
  /** The record's own period, in microseconds since 1970. */
  readonly startMicros: number | null
  readonly endMicros: number | null
  /** The day to which the record belongs, as midnight of that day in UTC. */
  readonly localDateMs: number | null
  readonly raw: string
  /** The digest of `raw`, eight bytes as characters. */
  readonly digest: string
}

/**
 * A reading whose records were made rows. The parsed records are let go: thousands of readings wait for their commit at a
 * time, and long-lived objects are the costliest for the garbage collector.
 */
export type PreparedReading = Omit<Reading, 'records'> & {
  readonly rows: readonly RecordRow[]
  readonly drift: ReadingDrift
}

/** A prepared reading that the judge admitted. Its `rows` are the records that no newer reading has covered. */
export type AdmittedReading = PreparedReading &
  Admission & {
    /** Earliest start of records that this reading is authoritative for (<= window start). */
    readonly reachBackToMs: number
    /** The key hashes of records that newer readings held across their edges: of these records this reading says nothing. */
    readonly heldByNewer: readonly number[]
    readonly edges: WindowEdges
    /** False: the reading is missing suspiciously many stored records, so a second reading must agree first. */
    readonly believed: boolean
  }

/** An admitted reading with what it changes in the ledger, now that its changed records are known. */
export type SettledReading = AdmittedReading & CoverageChange & { readonly rule: SettleRule }

/** One record and the reading that it came with. */
export type IncomingRecord = { readonly row: RecordRow; readonly reading: AdmittedReading }

/** How far a record may start beyond its window and the present: offsets from UTC, and clocks that are ahead. */
const FUTURE_MAX_MS = 2 * DAY

/** The latest instant at which a record of an answer may start. No sweep would read a record beyond it again for as long. */
export const latestStartMsOf = ({ window, sentAtMs }: Pick<Reading, 'window' | 'sentAtMs'>): number =>
  Math.max(window.endMs, sentAtMs) + FUTURE_MAX_MS

/**
 * Makes rows of records. A record that lacks a part of its key, or starts after `latestStartMs`, is invalid; the other records are
 * stored all the same.
 */
export function toRecordRows(
  stream: PulledStream,
  records: readonly SourceRecord[],
  latestStartMs: number,
): { rows: RecordRow[]; invalid: InvalidRecord[] } {
  const rows = new Map<string, RecordRow>()
  const invalid: InvalidRecord[] = []
  for (const record of records) {
    const row = toRecordRow(stream, record)
    if ('reason' in row) invalid.push(row)
    else if ((row.startMicros ?? 0) > latestStartMs * 1000) invalid.push(futureRecord(stream, row))
    // Upstream sends the newest record first: of two records with one key in one answer the first counts.
    else if (!rows.has(row.key)) rows.set(row.key, row)
  }
  return { rows: [...rows.values()], invalid }
}

export function toRecordRow(stream: PulledStream, record: SourceRecord): RecordRow | InvalidRecord {
  const cells: ColumnValue[] = []
  let key = ''
  let startMicros: number | null = null
  let endMicros: number | null = null
  let startText = ''
  let periodicity: ColumnValue = null
  for (const column of stream.columns) {
    const found = pickValue(column, record.fields)
    const cell = cellOfColumn(column, found)
    if (cell === undefined || (cell === null && column.key)) return invalidRecord(column, found, record.raw)
    if (column.key && typeof cell === 'string' && cell.length > KEY_LENGTH_MAX)
      return invalidRecord(column, found, record.raw)
    cells.push(cell)
    if (column.key) key += `${cell}\u0000`
    if (column.name === stream.startColumn) {
      startMicros = cell as number | null // the cell of an instant is a number of microseconds
      startText = textOrEmpty(found)
    }
    if (column.name === stream.endColumn) endMicros = cell as number | null
    if (column.name === 'periodicity') periodicity = cell
  }
  return {
    cells,
    key,
    startMicros,
    endMicros: endMicros ?? startMicros,
    localDateMs: localDateMsOf(stream, startText, periodicity),
    raw: record.raw,
    digest: digestCharactersOf(record.raw),
  }
}

function pickValue(column: Column, fields: Fields): unknown {
  for (const name of column.from) {
    const value = fields[name]
    if (value !== undefined && value !== null) return value
  }
  return column.absent
}

/** Undefined for a value of the wrong kind in a key column; null for a missing value, and for an unusable value outside the key. */
function cellOfColumn(column: Column, value: unknown): ColumnValue | undefined {
  if (value === undefined || value === null) return null
  const cell = cellOfType(column.type, value)
  return cell === undefined && !column.key ? null : cell
}

/** Nothing else names a day, and an object may refuse to become a text. */
const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '')

function cellOfType(type: Column['type'], value: unknown): ColumnValue | undefined {
  switch (type) {
    case 'text':
      if (typeof value === 'string') return value
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
    case 'instant':
      return typeof value === 'string' ? instantMicrosOf(value) : undefined
    case 'number': {
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      return typeof number === 'number' && Number.isFinite(number) ? number : undefined
    }
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
  }
}

function invalidRecord(column: Column, found: unknown, raw: string): InvalidRecord {
  const path = column.from[0] ?? column.name
  const reason =
    found === undefined || found === null ? 'missing, and the record has no name without it' : `not ${kindOf(column)}`
  return { path, reason, raw }
}

const futureRecord = ({ columns, startColumn }: PulledStream, { raw }: RecordRow): InvalidRecord => ({
  path: columns.find(({ name }) => name === startColumn)?.from[0] ?? '',
  reason: 'more than two days after its window, and in the future',
  raw,
})

/** An index of Postgres holds no key of more than 2,700 bytes. No real key comes near this length. */
const KEY_LENGTH_MAX = 200

/** The kind of value that a column takes, for the reason of an invalid record. */
function kindOf({ type, key }: Column): string {
  if (type === 'instant') return 'a date-time that can be stored'
  return key && type === 'text' ? `a text of at most ${KEY_LENGTH_MAX} characters` : `a ${type}`
}

/** The record's period in milliseconds; without bounds in streams that have none. */
export const recordPeriod = (row: RecordRow): Span => ({
  startMs: row.startMicros === null ? Number.NEGATIVE_INFINITY : row.startMicros / 1000,
  endMs: row.endMicros === null ? Number.POSITIVE_INFINITY : row.endMicros / 1000,
})

/** A short hash of a record's key, unique enough within one profile's stream. `recordKeyHashSql` computes the same of a stored record. */
export const recordKeyHash = (row: RecordRow): number =>
  hash('md5', row.key.replaceAll('\u0000', KEY_SEPARATOR), 'buffer').readInt32BE(0)

/** Stands after each part of a key in place of U+0000, which Postgres does not know. */
const KEY_SEPARATOR = '\u001f'

/** Finds the records that reach beyond the window: readings of the neighbouring windows may hold these records too. */
export function windowEdgesOf(rows: readonly RecordRow[], window: Span): WindowEdges {
  const crossing = rows.filter((row) => row.startMicros !== null && !isInside(recordPeriod(row), window))
  return {
    crossingHashes: crossing.map(recordKeyHash),
    reachesBack: crossing.some((row) => reachesInto(recordPeriod(row), window)),
  }
}

/** The local day to which a record belongs, such as `2026-03-02`, even if nothing else of it fits. */
export function localDateTextOf(stream: PulledStream, record: unknown): string | undefined {
  const start = stream.columns.find(({ name }) => name === stream.startColumn)
  const localDateMs =
    start && localDateMsOf(stream, textOrEmpty(pickValue(start, Object(record))), Object(record).periodicity)
  if (typeof localDateMs !== 'number' || localDateMs < YEAR_1_MS || localDateMs > YEAR_9999_MS) return undefined
  return new Date(localDateMs).toISOString().slice(0, 10)
}

/** For how many days after its first a record counts, as `warehouse.days` has it: in streams whose records do not speak of one day each. */
export function furtherDaysOf(
  { columns, startColumn, endColumn, longestMs = 0, needs }: PulledStream,
  record: unknown,
): number {
  const msOf = (name: string | undefined) => {
    const column = columns.find((each) => each.name === name)
    return ((column && instantMicrosOf(textOrEmpty(pickValue(column, Object(record))))) ?? Number.NaN) / 1000
  }
  const days = needs ? 1 : Math.round(Math.min(msOf(endColumn) - msOf(startColumn), longestMs) / DAY)
  return days > 1 ? days - 1 : 0
}

const YEAR_1_MS = Date.parse('0001-01-01')
const YEAR_9999_MS = Date.parse('9999-12-31')

/**
 * The calendar day of a record's start in its own offset, as midnight of that day in UTC. A record of one day that starts at noon
 * or later is a night, and belongs to the next day: the day on which the night ends, as the night's score does. So is `DAILY`: no night
 * moves because upstream spells a word in another way.
 */
function localDateMsOf(stream: PulledStream, startText: string, periodicity: unknown): number | null {
  const day = epochDayOf(startText)
  const startDayMs = day === undefined ? Date.parse(`${startText.slice(0, 10)}T00:00:00Z`) : day * DAY
  if (Number.isNaN(startDayMs)) return null
  const isOfDay = stream.dayPeriodicities?.includes(textOrEmpty(periodicity).toLowerCase()) ?? false
  return isOfDay && startText.slice(11, 13) >= '12' ? startDayMs + DAY : startDayMs
}
