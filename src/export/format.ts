import type { ExportCell, ExportColumn, ExportRow } from '../warehouse/extract.ts'

export const exportFormats = ['ndjson', 'csv', 'parquet', 'singer'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** Where an export of one stream stands: what a state file and a Singer STATE hold for it. */
export type Bookmark = {
  /** Only what changed after this instant is exported; absent: everything. */
  readonly since?: string | undefined
  /** Up to which instant the export under way reads. Absent when none is. */
  readonly upto?: string | undefined
  /** Up to which of our profile ids it came. */
  readonly after?: string | undefined
}

export type State = { readonly bookmarks: Readonly<Record<string, Bookmark>> }

/** Turns rows into bytes. Holds no more than it was given last. */
export type Encoder = {
  head(stream: string, columns: readonly ExportColumn[]): string
  rows(rows: readonly ExportRow[]): string | Uint8Array
  /** After a page of people is done with. */
  state(state: State): string
  tail(): string | Uint8Array
}

const silent = { state: () => '', tail: () => '' }

/** One object a line; JSON columns as JSON, digit for digit as they are stored. */
export function createNdjson(): Encoder {
  let names: string[] = []
  let isJson: boolean[] = []
  return {
    ...silent,
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

/** RFC 4180, with a head. An empty cell is null; an empty text is quoted. */
export function createCsv(): Encoder {
  return {
    ...silent,
    head: (_stream, columns) => `${columns.map(({ name }) => quoted(name)).join(',')}\r\n`,
    rows: (rows) => rows.map((row) => `${row.map(quoted).join(',')}\r\n`).join(''),
  }
}

function quoted(cell: ExportCell): string {
  if (cell === null) return ''
  const text = String(cell)
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
