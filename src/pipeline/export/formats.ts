import type { FormulaHandling } from '../../base/text/csv-cell.ts'
import type { ColumnKind, ExportColumn } from '../warehouse/reports/export-rows.ts'
import { createCsv } from './csv.ts'
import { noStateNoTail, type RowEncoder } from './encoder.ts'
import { createParquet } from './parquet.ts'

export const encoders = {
  ndjson: createNdjson,
  csv: createCsv,
  parquet: createParquet,
  singer: createSinger,
} as const satisfies Readonly<Record<string, (formulas: FormulaHandling) => RowEncoder>>

export type ExportFormat = keyof typeof encoders

/** NDJSON: one object a line; JSON columns stay JSON, digit for digit as they are stored. */
export function createNdjson(): RowEncoder {
  let names: string[] = []
  let isJson: boolean[] = []
  return {
    ...noStateNoTail,
    head(_stream, columns) {
      names = columns.map(({ name }) => JSON.stringify(name))
      isJson = columns.map(({ kind }) => kind === 'json')
      return ''
    },
    rows: (rows) =>
      rows
        .map((row) => {
          const fields = row.map((cell, index) => `${names[index]}:${isJson[index] ? cell : JSON.stringify(cell)}`)
          return `{${fields.join(',')}}\n`
        })
        .join(''),
  }
}

const jsonSchemaTypes: Readonly<Record<ColumnKind, object>> = {
  text: { type: ['null', 'string'] },
  number: { type: ['null', 'number'] },
  integer: { type: ['null', 'integer'] },
  boolean: { type: ['null', 'boolean'] },
  date: { type: ['null', 'string'], format: 'date' },
  instant: { type: ['null', 'string'], format: 'date-time' },
  // As text, which every target can store; a target with JSON columns can cast it.
  json: { type: ['null', 'string'] },
}

/** The Singer format: a SCHEMA, RECORDs, and after each page of profiles a STATE, from which the next export resumes. */
function createSinger(): RowEncoder {
  let name = ''
  let keys: string[] = []
  return {
    head(stream, columns) {
      name = stream.replaceAll('-', '_')
      keys = columns.map((column) => JSON.stringify(column.name))
      return jsonLine({
        type: 'SCHEMA',
        stream: name,
        schema: { type: 'object', additionalProperties: false, properties: propertiesOf(columns) },
        key_properties: columns.filter(({ key }) => key).map((column) => column.name),
        bookmark_properties: ['changed_at'],
      })
    },
    rows(rows) {
      const before = `{"type":"RECORD","stream":${JSON.stringify(name)},"record":{`
      return rows
        .map((row) => `${before}${row.map((cell, index) => `${keys[index]}:${JSON.stringify(cell)}`).join(',')}}}\n`)
        .join('')
    },
    state: (value) => jsonLine({ type: 'STATE', value }),
    tail: () => '',
  }
}

const jsonLine = (message: object) => `${JSON.stringify(message)}\n`

function propertiesOf(columns: readonly ExportColumn[]): Record<string, object> {
  return Object.fromEntries(
    columns.map(({ name, kind, key }) => [name, key && kind === 'text' ? { type: 'string' } : jsonSchemaTypes[kind]]),
  )
}
