import { parse } from 'csv-parse/sync'
import { UsageProblem } from '../base/errors.ts'
import { type FileLine, splitLines } from './formats/split-lines.ts'

export const fileFormats = ['ndjson', 'csv'] as const
export type FileFormat = (typeof fileFormats)[number]

/** One entry of a file: its fields, or why it cannot be read. Reading can resume at `end`, the byte after the entry. */
export type FileEntry = { readonly line: number; readonly end: number } & (
  | { readonly fields: Readonly<Record<string, unknown>> }
  | { readonly fault: string; readonly text: string }
)

type EntrySource = {
  readonly bytes: AsyncIterable<Buffer>
  readonly format: FileFormat
  readonly begin: { readonly position: number; readonly line: number }
  /** The names of the columns, when reading begins after the line that names them. */
  readonly columns?: readonly string[] | undefined
  /** Throws when the columns that the file names do not do. */
  readonly checkColumns?: (columns: readonly string[]) => void
}

/** The format that the user gave, or else the format of the file's extension. */
export function fileFormatOf(file: string, given: string | undefined): FileFormat {
  const known = fileFormats.find((format) => format === given)
  if (known) return known
  if (given !== undefined)
    throw new UsageProblem(`read file: ${given} is no format of such a file`, {
      hint: 'Allowed choices are ndjson and csv.',
    })
  if (/\.(ndjson|jsonl|json)$/i.test(file)) return 'ndjson'
  if (/\.csv$/i.test(file)) return 'csv'
  throw new UsageProblem('read file: its name does not tell whether it is NDJSON or CSV', {
    hint: 'Say it: --format ndjson or --format csv.',
  })
}

export function readEntries(source: EntrySource): AsyncGenerator<FileEntry> {
  const lines = splitLines(source.bytes, source.begin)
  return source.format === 'csv' ? csvEntries(lines, source) : jsonEntries(lines)
}

async function* jsonEntries(lines: AsyncIterable<FileLine>): AsyncGenerator<FileEntry> {
  for await (const { line, text, end } of lines) {
    if (text === undefined) yield { line, end, fault: 'the line is longer than 1 MiB', text: '' }
    else if (text.trim() !== '') yield { line, end, ...jsonFields(text) }
  }
}

function jsonFields(text: string): { fields: Record<string, unknown> } | { fault: string; text: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { fields: { ...value } }
    if (typeof value === 'string') return { fields: { externalId: value } }
    return { fault: 'the line is no JSON object', text }
  } catch {
    return { fault: 'the line is not JSON', text }
  }
}

/** A quoted field may span several lines. After this many lines the quote counts as a mistake, and only its line is lost. */
const LINES_PER_RECORD_MAX = 50

async function* csvEntries(
  lines: AsyncIterable<FileLine>,
  { columns: given, checkColumns }: Pick<EntrySource, 'columns' | 'checkColumns'>,
): AsyncGenerator<FileEntry> {
  let columns = given
  for await (const record of csvRecords(lines)) {
    const cells = record.text === undefined ? undefined : parseCsvCells(record.text)
    if (columns === undefined) {
      columns = parseCsvHead(cells)
      checkColumns?.(columns)
      continue
    }
    if (record.text?.trim() === '') continue
    yield { line: record.line, end: record.end, ...fieldsOf(columns, cells, record.text) }
  }
}

/** The names of a file's columns. */
export async function readCsvColumns(bytes: AsyncIterable<Buffer>): Promise<string[]> {
  for await (const { text } of csvRecords(splitLines(bytes, { position: 0, line: 0 }))) {
    return parseCsvHead(text === undefined ? undefined : parseCsvCells(text))
  }
  return parseCsvHead(undefined)
}

function parseCsvHead(cells: readonly string[] | undefined): string[] {
  const columns = (cells ?? []).map((cell) => cell.trim())
  const duplicate = columns.find((name, index) => columns.indexOf(name) !== index)
  if (columns.includes('externalId') && duplicate === undefined) return columns
  throw new UsageProblem(
    duplicate === undefined
      ? 'read CSV: its first line has no column externalId'
      : `read CSV: two columns are named ${duplicate}`,
    { hint: 'The first line names the columns; docs/cli.md lists them.' },
  )
}

function fieldsOf(columns: readonly string[], cells: readonly string[] | undefined, text: string | undefined) {
  if (text === undefined) return { fault: 'the line is longer than 1 MiB', text: '' }
  if (cells === undefined)
    return { fault: 'the line is not CSV: a quote is not closed, or stands where none may', text }
  if (cells.length !== columns.length)
    return { fault: `the line has ${cells.length} cells, and there are ${columns.length} columns`, text }
  const filled = columns.flatMap((name, index) => (cells[index] ? [[name, cells[index]] as const] : []))
  return { fields: Object.fromEntries(filled) }
}

/** Joins the lines of a record whose quoted field spans several lines. */
async function* csvRecords(lines: AsyncIterable<FileLine>): AsyncGenerator<FileLine> {
  let open: FileLine[] = []
  for await (const next of lines) {
    open.push(next)
    const record = joinedRecordOf(open)
    if (record) {
      yield record
      open = []
    } else if (open.length > LINES_PER_RECORD_MAX) open = yield* skipFirstLine(open)
  }
  while (open.length > 0) open = yield* skipFirstLine(open)
}

/** A quote that is never closed costs its own line: the lines after it are read as if the quote were not there. */
function* skipFirstLine([first, ...others]: readonly FileLine[]): Generator<FileLine, FileLine[]> {
  if (first) yield first
  let open: FileLine[] = []
  for (const line of others) {
    open.push(line)
    const record = joinedRecordOf(open)
    if (!record) continue
    yield record
    open = []
  }
  return open
}

/** The lines as one record, or undefined while a quote is open. */
function joinedRecordOf(lines: readonly FileLine[]): FileLine | undefined {
  const last = lines.at(-1)
  if (!last) return undefined
  if (lines.length === 1 && last.text === undefined) return last
  if (lines.some(({ text }) => text === undefined)) return undefined
  const text = lines.map((line) => line.text).join('\n')
  let quotes = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes += 1
  return quotes % 2 === 0 ? { line: lines[0]?.line ?? last.line, end: last.end, text } : undefined
}

function parseCsvCells(text: string): string[] | undefined {
  if (!text.includes('"')) return text.split(',')
  try {
    const [cells] = parse(text, { columns: false, relax_column_count: true })
    return cells
  } catch {
    return undefined // fieldsOf reports the fault with its line
  }
}
