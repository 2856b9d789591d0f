import { createCsv, type FormulaHandling } from './csv.ts'
import { noStateNoTail, type RowEncoder } from './encoder.ts'
import { createParquet } from './parquet.ts'
import { createSinger } from './singer.ts'

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
