import type { ExportCell } from '../warehouse/reports/export-rows.ts'
import { noStateNoTail, type RowEncoder } from './encoder.ts'

/** CSV of RFC 4180, with a header line. An empty cell is null; an empty text is quoted. */
export function createCsv(): RowEncoder {
  return {
    ...noStateNoTail,
    head: (_stream, columns) => `${columns.map(({ name }) => quotedCsv(name)).join(',')}\r\n`,
    rows: (rows) => rows.map((row) => `${row.map(quotedCsv).join(',')}\r\n`).join(''),
  }
}

function quotedCsv(cell: ExportCell): string {
  if (cell === null) return ''
  const text = String(cell)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
