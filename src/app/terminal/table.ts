import { printableLine } from '../../base/text/printable.ts'
import { type Paint, type Shade, unpainted } from './terminal.ts'

export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `1 profile`, `2 profiles`. */
export const formatCount = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

export const formatNumber = (value: number): string => value.toLocaleString('en-US')

/** `2.5 %`, and `0.017 %` for a share below a hundredth. */
export const formatPercent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.01 ? 3 : 1)} %`

/** `2026-07-11 03:00`, in UTC; empty without an instant. */
export const formatMinute = (at: Date | null): string =>
  at === null ? '' : at.toISOString().slice(0, 16).replace('T', ' ')

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
  const widths = head.map((title, index) =>
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
  const titles = head.map((title, index) =>
    isNumbers(index) ? title.padStart(widths[index] ?? 0) : title.padEnd(widths[index] ?? 0),
  )
  return [titles, ...lines].map((line) => line.join('  ').trimEnd()).join('\n')
}

const byteUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'] as const

/** Bytes with three digits at most, in units of 1,024. */
export function formatBytes(bytes: number): string {
  const power = Math.min(byteUnits.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${byteUnits[power]}`
}
