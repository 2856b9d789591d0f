import type { Column, PulledStream } from '../../transfer/stream.ts'
import { keyColumns } from '../../transfer/stream.ts'
import { binaryColumn, type ColumnType, type ColumnValue } from '../postgres/binary-format.ts'
import type { AdmittedReading } from './prepared-reading.ts'
import type { RecordRow } from './record-rows.ts'

/** One record and the reading that it came with. */
export type IncomingRecord = { readonly row: RecordRow; readonly reading: AdmittedReading }

export const sqlType = { text: 'text', instant: 'timestamptz', number: 'float8', boolean: 'bool' } as const

export const arrayType: Record<Column['type'], ColumnType> = {
  text: 'text',
  instant: 'timestamptz',
  number: 'float8',
  boolean: 'bool',
}

/** The key of a stream's table: no two records have the same. */
export const keyNames = (stream: PulledStream) => ['profile_id', ...keyColumns(stream).map((column) => column.name)]

export const keyTypes = (stream: PulledStream) => ['int8', ...keyColumns(stream).map((column) => sqlType[column.type])]

export const sameKeySql = (stream: PulledStream, a: string, b: string) =>
  keyNames(stream)
    .map((key) => `${a}.${key} = ${b}.${key}`)
    .join(' and ')

export const unnestSql = (types: readonly string[], columns: readonly string[]) =>
  `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')}) as i(${columns.join(', ')})`

export const recordColumn =
  (incoming: readonly IncomingRecord[]) => (type: ColumnType, cell: (one: IncomingRecord) => ColumnValue) =>
    binaryColumn(type, incoming, cell)
