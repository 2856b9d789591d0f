import { createCsv, type FormulaHandling } from './csv.ts'
import type { RowEncoder } from './encoder.ts'
import { createNdjson } from './ndjson.ts'
import { createParquet } from './parquet.ts'
import { createSinger } from './singer.ts'

export const encoders = {
  ndjson: createNdjson,
  csv: createCsv,
  parquet: createParquet,
  singer: createSinger,
} as const satisfies Readonly<Record<string, (formulas: FormulaHandling) => RowEncoder>>

export type ExportFormat = keyof typeof encoders
