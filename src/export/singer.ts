import type { ColumnKind, ExportColumn } from '../warehouse/extract.ts'
import type { Encoder } from './format.ts'

const types: Readonly<Record<ColumnKind, object>> = {
  text: { type: ['null', 'string'] },
  number: { type: ['null', 'number'] },
  integer: { type: ['null', 'integer'] },
  boolean: { type: ['null', 'boolean'] },
  date: { type: ['null', 'string'], format: 'date' },
  instant: { type: ['null', 'string'], format: 'date-time' },
  // As text, which every target can store; those that know JSON can cast it.
  json: { type: ['null', 'string'] },
}

/** The Singer form: a SCHEMA, RECORDs, and after each page of people a STATE from which a next run goes on. */
export function createSinger(): Encoder {
  let name = ''
  let keys: string[] = []
  return {
    head(stream, columns) {
      name = stream.replaceAll('-', '_')
      keys = columns.map((column) => JSON.stringify(column.name))
      return line({
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
    state: (value) => line({ type: 'STATE', value }),
    tail: () => '',
  }
}

const line = (message: object) => `${JSON.stringify(message)}\n`

function propertiesOf(columns: readonly ExportColumn[]): Record<string, object> {
  return Object.fromEntries(
    columns.map(({ name, kind, key }) => [name, key && kind === 'text' ? { type: 'string' } : types[kind]]),
  )
}
