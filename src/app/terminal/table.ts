import { formatNumber, printableLine } from '../../base/text/readable.ts'
import { createCsv } from '../../pipeline/export/csv.ts'
import type { ExportCell } from '../../pipeline/warehouse/reports/export-rows.ts'
import { type Paint, type Shade, unpainted } from './terminal.ts'

export type TableCell = string | number | { readonly value: string | number; readonly shade: Shade | undefined }

/** A coloured cell; without a shade a plain cell. */
export const shadedCell = (value: string | number, shade: Shade | undefined): TableCell => ({ value, shade })

/** Every column is as wide as its widest cell; numbers are aligned to the right. */
export function formatTable(
  head: readonly string[],
  rows: ReadonlyArray<readonly TableCell[]>,
  paint: Paint = unpainted,
): string {
  const cells = rows.map((row) =>
    row.map((cell) => {
      const { value, shade } = typeof cell === 'object' ? cell : { value: cell, shade: undefined }
      return { value: typeof value === 'string' ? printableLine(value) : value, shade }
    }),
  )
  const textOf = (value: string | number | undefined) =>
    typeof value === 'number' ? formatNumber(value) : (value ?? '')
  const titles = head.map(printableLine)
  const widths = titles.map((title, index) =>
    Math.max(title.length, ...cells.map((row) => textOf(row[index]?.value).length)),
  )
  const padded = (value: string | number, index: number) => {
    const width = widths[index] ?? 0
    return typeof value === 'number' ? formatNumber(value).padStart(width) : value.padEnd(width)
  }
  const lines = cells.map((row) =>
    row.map(({ value, shade }, index) => {
      const last = index === row.length - 1 ? padded(value, index).trimEnd() : padded(value, index)
      return shade ? paint(shade, last) : last
    }),
  )
  const isNumbers = (index: number) => cells.length > 0 && cells.every((row) => typeof row[index]?.value === 'number')
  const heading = titles.map((title, index) =>
    isNumbers(index) ? title.padStart(widths[index] ?? 0) : title.padEnd(widths[index] ?? 0),
  )
  return [heading, ...lines].map((line) => line.join('  ').trimEnd()).join('\n')
}

/** CSV for a terminal or a pipe: lines, also those within a text, end as the terminal's do. */
export function formatCsv(rows: ReadonlyArray<readonly ExportCell[]>, titles?: readonly string[]): string {
  const { head, rows: encode } = createCsv('defuse')
  const columns = titles?.map((name) => ({ name, kind: 'text' as const, key: false }))
  const text = `${columns ? head('csv', columns) : ''}${encode(rows)}`
  return text.replaceAll('\r\n', '\n').replace(/\n$/, '')
}
