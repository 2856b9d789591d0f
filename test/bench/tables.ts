import { catalogue } from '../../config/streams.ts'
import type { PulledStream } from '../../src/pipeline/transfer/stream.ts'
import { type PulledName, pulledNames } from './canned.ts'

const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

export const streamOf = (name: PulledName): PulledStream => {
  const found = catalogue.pulled.find((stream) => stream.name === name)
  if (!found) throw new Error(`find stream ${name}: it is not in the catalogue`)
  return found
}

export const columnsOf = (name: PulledName): string[] => [
  'external_id',
  ...streamOf(name).columns.map((column) => column.name),
  'raw',
]

/** The same columns as the warehouse's, without what a promise needs; a primary key only where one is asked for. */
export function plainTables(schema: string, options: { keyed: boolean }): string {
  const tables = pulledNames.map((name) => {
    const { columns } = streamOf(name)
    const own = columns.map((column) => `${column.name} ${sqlType[column.type]}`)
    const key = ['external_id', ...columns.filter((column) => column.key).map((column) => column.name)]
    const parts = ['external_id text not null', ...own, 'raw jsonb', ...(options.keyed ? [`primary key (${key})`] : [])]
    return `create table ${schema}.${streamOf(name).table} (${parts.join(', ')});`
  })
  return `drop schema if exists ${schema} cascade; create schema ${schema}; ${tables.join(' ')}
    create table ${schema}.checkpoints (external_id text, stream text, read_to timestamptz, primary key (external_id, stream));`
}

export type PlainRecord = Readonly<Record<string, unknown>>

/** A record's cells as text, and its own text last. */
export function cellsOf(name: PulledName, externalId: string, record: PlainRecord): Array<string | null> {
  const cells: Array<string | null> = [externalId]
  for (const column of streamOf(name).columns) {
    const value = record[column.from[0] ?? column.name]
    cells.push(value === undefined || value === null ? null : String(value))
  }
  cells.push(JSON.stringify(record))
  return cells
}

export const pathOf = (name: PulledName, externalId: string, window: { startAt: string; endAt: string }): string =>
  `/api/v1/profile/${pathNames[name]}/${externalId}?startDateTime=${window.startAt}&endDateTime=${window.endAt}`

const pathNames: Record<PulledName, string> = {
  scores: 'score',
  biomarkers: 'biomarker',
  archetypes: 'archetypes',
  trends: 'insight/trend',
  comparisons: 'insight/comparison',
}
