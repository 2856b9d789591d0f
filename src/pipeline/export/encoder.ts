import type { ExportColumn, ExportRow } from '../warehouse/reports/export-rows.ts'
import type { ExportState } from './export-state.ts'

/** Turns the rows of one stream into the bytes of a format. Holds no more rows than a bounded group. */
export type RowEncoder = {
  head(stream: string, columns: readonly ExportColumn[]): string
  rows(rows: readonly ExportRow[]): string | Uint8Array
  /** Called when a page of profiles is written whole. */
  state(state: ExportState): string
  tail(): string | Uint8Array
}

/** For a format that carries no state and ends with its last row. */
export const noStateNoTail = { state: () => '', tail: () => '' }
