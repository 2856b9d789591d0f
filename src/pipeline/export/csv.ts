import type { ExportCell } from '../warehouse/reports/export-rows.ts'
import { noStateNoTail, type RowEncoder } from './encoder.ts'

/** Whether a text that begins like a formula stays as it is, or is made harmless to spreadsheets. */
export const formulaHandlings = ['defuse', 'keep'] as const
export type FormulaHandling = (typeof formulaHandlings)[number]

/**
 * CSV of RFC 4180, with a header line. An empty cell is null; an empty text is quoted. A text that a spreadsheet would take
 * for a formula gets an apostrophe before it, unless formulas are kept.
 */
export function createCsv(formulas: FormulaHandling): RowEncoder {
  const cellOf = (cell: ExportCell) => quotedCsv(formulas === 'defuse' ? defused(cell) : cell)
  return {
    ...noStateNoTail,
    head: (_stream, columns) => `${columns.map(({ name }) => quotedCsv(name)).join(',')}\r\n`,
    rows: (rows) => rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join(''),
  }
}

/** Spreadsheets evaluate a text that begins so. A negative number is a number. */
const BEGINS_LIKE_A_FORMULA = /^[=+\-@\t\r\n|%]/
const IS_NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i

function defused(cell: ExportCell): ExportCell {
  const isFormula = typeof cell === 'string' && BEGINS_LIKE_A_FORMULA.test(cell) && !IS_NUMBER.test(cell)
  return isFormula ? `'${cell}` : cell
}

function quotedCsv(cell: ExportCell): string {
  if (cell === null) return ''
  const text = String(cell)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
