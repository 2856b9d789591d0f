import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { ColumnKind, ExportCell, ExportColumn, ExportRow } from '../warehouse/reports/export-rows.ts'
import type { RowEncoder } from './encoder.ts'

const parquetTypes: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  number: { type: 'DOUBLE' },
  integer: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
  date: { type: 'INT32', converted_type: 'DATE' },
  instant: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  // The text exactly as it is stored; readers cast it.
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
}

/** Rows of one row group, which is held in memory whole. */
const ROWS_PER_GROUP = 10_000

export const createParquet = (): RowEncoder => createParquetOf(ROWS_PER_GROUP)

/** Apache Parquet, in row groups of a bounded size. The file is invalid until its tail is written. */
export function createParquetOf(rowsPerGroup: number): RowEncoder {
  const bytes = new ByteWriter()
  let columns: readonly ExportColumn[] = []
  let writer: ParquetWriter | undefined
  let waiting: ExportRow[] = []

  const takeBytes = (): Uint8Array => {
    const written = new Uint8Array(bytes.buffer.slice(0, bytes.index))
    bytes.index = 0
    return written
  }
  const writeGroup = () => {
    const columnData = columnDataOf(columns, waiting)
    waiting = []
    void writer?.write({ columnData, rowGroupSize: rowsPerGroup }) // writes to memory and is done when it returns
  }
  return {
    head(_stream, given) {
      columns = given
      writer = new ParquetWriter({ writer: bytes, schema: schemaOf(columns), createdBy: 'vitalsync' })
      return ''
    },
    rows(rows) {
      waiting = waiting.concat(rows)
      if (waiting.length >= rowsPerGroup) writeGroup()
      return takeBytes()
    },
    state: () => '',
    tail() {
      if (waiting.length > 0) writeGroup()
      void writer?.finish()
      return takeBytes()
    },
  }
}

function schemaOf(columns: readonly ExportColumn[]): SchemaElement[] {
  const root: SchemaElement = { name: 'root', num_children: columns.length }
  return [root, ...columns.map(({ name, kind }) => columnSchemaOf(name, kind))]
}

const columnSchemaOf = (name: string, kind: ColumnKind): SchemaElement => ({
  name,
  repetition_type: 'OPTIONAL',
  ...parquetTypes[kind],
})

const columnDataOf = (columns: readonly ExportColumn[], rows: readonly ExportRow[]) =>
  columns.map(({ name, kind }, index) => ({
    name,
    data: rows.map((row) => parquetValueOf(kind, row[index] ?? null)),
    nullable: true,
  }))

const MICROS_PER_MS = 1000n

function parquetValueOf(kind: ColumnKind, cell: ExportCell): ExportCell | bigint | Date {
  if (typeof cell !== 'string') return cell
  if (kind === 'date') return new Date(cell)
  if (kind !== 'instant') return cell
  // `2026-07-11T00:00:00.123456Z`: Date.parse reads milliseconds, the last three digits are added.
  return BigInt(Date.parse(cell)) * MICROS_PER_MS + BigInt(cell.slice(23, 26))
}
