import { csvCell, type FormulaHandling } from '../../base/text/csv-cell.ts'
import { noStateNoTail, type RowEncoder } from './encoder.ts'

/** CSV of RFC 4180, with a header line. */
export const createCsv = (formulas: FormulaHandling): RowEncoder => ({
  ...noStateNoTail,
  head: (_stream, columns) => `${columns.map(({ name }) => csvCell(name, 'keep')).join(',')}\r\n`,
  rows: (rows) => rows.map((row) => `${row.map((cell) => csvCell(cell, formulas)).join(',')}\r\n`).join(''),
})
