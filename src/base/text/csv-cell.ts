/** Whether a text that begins like a formula stays as it is, or is made harmless to spreadsheets. */
export const formulaHandlings = ['defuse', 'keep'] as const
export type FormulaHandling = (typeof formulaHandlings)[number]

type CsvCell = string | number | boolean | null

/**
 * A cell of RFC 4180. An empty cell is null; an empty text is quoted. A text that a spreadsheet would take for a formula gets an
 * apostrophe before it, unless formulas are kept.
 */
export const csvCell = (cell: CsvCell, formulas: FormulaHandling): string =>
  quoted(formulas === 'defuse' && typeof cell === 'string' && !IS_NUMBER.test(cell) ? defused(cell) : cell)

/** A negative number is a number. */
const IS_NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i
/**
 * Spreadsheets evaluate a text that begins so, and one behind a semicolon, a tab or a line break: where the language of the spreadsheet
 * separates cells by semicolons, a quoted text that is not the first of its line is cut there.
 */
const FORMULA_BEGINS = /(?<=^|[;\t\r\n])(?=[=+\-@|%])|^(?=[\t\r\n])/g
const defused = (text: string): string => text.replaceAll(FORMULA_BEGINS, "'")

function quoted(cell: CsvCell): string {
  if (cell === null) return ''
  const text = String(cell)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
