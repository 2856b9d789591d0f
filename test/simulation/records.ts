import { hash } from 'node:crypto'
import type { Span } from '../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import type { SourceRecord } from '../../src/pipeline/transfer/reading.ts'
import type { StreamName } from './circumstances.ts'

/** A record as upstream has it: `value` undefined: it has none at the moment. */
export type Truth = {
  readonly name: number
  readonly stream: StreamName
  readonly startMs: number
  endMs: number
  value: number | undefined
  everLost: boolean
  everGrew: boolean
  /** Upstream changed it when its day was called settled. */
  revisedLate: boolean
}

/** A record as the model reads it out of upstream's text. */
export type ModelRecord = {
  readonly name: number
  /** Stream and key. */
  readonly id: string
  readonly value: number
  readonly raw: string
  /** Values of the key columns as Postgres shows them in a history's key. */
  readonly key: Readonly<Record<string, string>>
  readonly keyHash: number
  /** Null in snapshots. */
  readonly startMs: number | null
  readonly endMs: number | null
  readonly localDate: string | null
}

/** In the offset of some place, for a record's local day follows from it. */
function instantText(ms: number, name: number): string {
  if (name % 3 > 0) return new Date(ms).toISOString()
  return `${new Date(ms + 5.5 * HOUR).toISOString().slice(0, 19)}+05:30`
}

/** Upstream's text of a record. Few kinds, so that records share parts of their keys. */
export function sourceRecordOf({ name: no, stream, startMs, endMs, value }: Truth): SourceRecord {
  const period = () => ({ startDateTime: instantText(startMs, no), endDateTime: instantText(endMs, no) })
  const type = `type-${no % 2}`
  const periodicity = no > 2 ? 'daily' : 'weekly'
  const fields = {
    biomarkers: () => ({ no, ...period(), type, category: 'category', periodicity, value: String(value) }),
    tags: () => ({ no, ...period(), type, name: 'tag', value: String(value) }),
    scores: () => ({ no, scoreDateTime: instantText(startMs, no), type, value }),
    demographics: () => ({ no, age: value }),
  }[stream]()
  return { raw: JSON.stringify(fields), fields }
}

/** The columns of each key, in the order of the catalogue. */
const keysOf: Readonly<Record<string, readonly string[]>> = {
  biomarkers: ['start_date_time', 'type', 'category', 'periodicity', 'aggregation', 'end_date_time'],
  tags: ['start_date_time', 'type', 'name', 'source'],
  scores: ['score_date_time', 'type'],
  demographics: [],
}

const fieldOf = (column: string) => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const isInstant = (column: string) => column.endsWith('_time')
/** As `jsonb` writes an instant of a session in UTC. */
const inKey = (text: string) => new Date(text).toISOString().replace('.000Z', '+00:00')
const hashOf = (parts: readonly string[]) =>
  hash('md5', parts.map((part) => `${part}\u001f`).join(''), 'buffer').readInt32BE(0)
const nextDay = (date: string) => new Date(Date.parse(date) + DAY).toISOString().slice(0, 10)

/** A record as its text says, by no function of the program. */
export function modelRecordOf(stream: string, raw: string): ModelRecord {
  const fields = JSON.parse(raw)
  const columns = (keysOf[stream] ?? []).map((name) => ({ name, value: String(fields[fieldOf(name)] ?? '') }))
  const parts = columns.map(({ name, value }) => (isInstant(name) ? String(Date.parse(value) * 1000) : value))
  const common = {
    ...{ name: fields.no, value: Number(fields.value ?? fields.age), raw },
    ...{ id: [stream, ...parts].join(' '), keyHash: hashOf(parts) },
    key: Object.fromEntries(columns.map(({ name, value }) => [name, isInstant(name) ? inKey(value) : value])),
  }
  const start: string | undefined = fields.startDateTime ?? fields.scoreDateTime
  if (start === undefined) return { ...common, startMs: null, endMs: null, localDate: null }
  const isNight = stream === 'biomarkers' && fields.periodicity === 'daily' && Number(start.slice(11, 13)) >= 12
  const startDate = start.slice(0, 10)
  return {
    ...common,
    ...{ startMs: Date.parse(start), endMs: Date.parse(fields.endDateTime ?? start) },
    localDate: isNight ? nextDay(startDate) : startDate,
  }
}

/** Without bounds in snapshots. */
export const periodOf = ({ startMs, endMs }: Pick<ModelRecord, 'startMs' | 'endMs'>): Span => ({
  startMs: startMs ?? Number.NEGATIVE_INFINITY,
  endMs: endMs ?? Number.POSITIVE_INFINITY,
})

/** A record of a snapshot is older than everything. */
export const endOf = ({ endMs }: Pick<ModelRecord, 'endMs'>): number => endMs ?? Number.NEGATIVE_INFINITY
