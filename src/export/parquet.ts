import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import type { ColumnKind, ExportCell, ExportColumn, ExportRow } from '../warehouse/extract.ts'
import type { Encoder } from './format.ts'

const elements: Readonly<Record<ColumnKind, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  number: { type: 'DOUBLE' },
  integer: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
  date: { type: 'INT32', converted_type: 'DATE' },
  instant: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  // The exact text as it is stored; readers cast it.
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
}

/** Rows of one row group: what is held at most before it is written. */
const ROWS_PER_GROUP = 10_000

/** Apache Parquet, in row groups of a bounded size. What was written before its tail is no file yet. */
export function createParquet(): Encoder {
  const bytes = new ByteWriter()
  let columns: readonly ExportColumn[] = []
  let writer: ParquetWriter | undefined
  let waiting: ExportRow[] = []

  const taken = (): Uint8Array => {
    const written = new Uint8Array(bytes.buffer.slice(0, bytes.index))
    bytes.index = 0
    return written
  }
  const writeGroup = () => {
    const rows = waiting
    waiting = []
    const columnData = columns.map(({ name, kind }, index) => ({
      name,
      data: rows.map((row) => storedAs(kind, row[index] ?? null)),
      nullable: true,
    }))
    void writer?.write({ columnData, rowGroupSize: ROWS_PER_GROUP }) // into memory: done when it returns
  }
  return {
    head(_stream, given) {
      columns = given
      const root: SchemaElement = { name: 'root', num_children: columns.length }
      const schema: SchemaElement[] = columns.map(({ name, kind }) => ({
        name,
        repetition_type: 'OPTIONAL',
        ...elements[kind],
      }))
      writer = new ParquetWriter({ writer: bytes, schema: [root, ...schema], createdBy: 'vitalsync' })
      return ''
    },
    rows(rows) {
      waiting = waiting.concat(rows)
      if (waiting.length >= ROWS_PER_GROUP) writeGroup()
      return taken()
    },
    state: () => '',
    tail() {
      if (waiting.length > 0) writeGroup()
      void writer?.finish()
      return taken()
    },
  }
}

const MICROS = 1000n

function storedAs(kind: ColumnKind, cell: ExportCell): ExportCell | bigint | Date {
  if (typeof cell !== 'string') return cell
  if (kind === 'date') return new Date(cell)
  if (kind !== 'instant') return cell
  // `2026-07-11T00:00:00.123456Z`: a date holds milliseconds, the last three digits are added.
  return BigInt(Date.parse(cell)) * MICROS + BigInt(cell.slice(23, 26))
}
