import { UsageProblem } from '../base/errors.ts'
import { requireNoFolder } from '../base/files/named-files.ts'
import { csvCells, csvRecords } from './formats/csv-records.ts'
import { type FileLine, splitLines } from './formats/split-lines.ts'

const fileFormats = ['ndjson', 'csv'] as const
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
export async function fileFormatOf(file: string, given: string | undefined): Promise<FileFormat> {
  if (/\.gz$/i.test(file)) throw compressed(file)
  const known = fileFormats.find((format) => format === given)
  if (known) return known
  if (given !== undefined)
    throw new UsageProblem(`read file: ${given} is no format of such a file`, {
      hint: 'Allowed choices are ndjson and csv.',
    })
  if (/\.(ndjson|jsonl|json)$/i.test(file)) return 'ndjson'
  if (/\.csv$/i.test(file)) return 'csv'
  if (file !== '-') await requireNoFolder(file)
  throw new UsageProblem(`read ${file}: its name does not tell whether it is NDJSON or CSV`, {
    hint: 'Say it: --format ndjson or --format csv.',
  })
}

/** Lines are read as they are; only health exports are unpacked. */
export const compressed = (file: string): UsageProblem =>
  new UsageProblem(`read ${file}: it is compressed by gzip`, {
    hint: 'Unpack it: zcat logs.gz | vitalsync import … - --format ndjson',
  })

export function readEntries(source: EntrySource): AsyncGenerator<FileEntry> {
  const lines = splitLines(source.bytes, source.begin)
  return source.format === 'csv' ? csvEntries(lines, source) : jsonEntries(lines)
}

async function* jsonEntries(lines: AsyncIterable<FileLine>): AsyncGenerator<FileEntry> {
  for await (const { line, text, end } of lines) {
    if (text === undefined) yield { line, end, fault: 'the line is longer than 1 MiB', text: '' }
    else if (isMisread(text)) yield { line, end, fault: notUtf8, text }
    else if (text.trim() !== '') yield { line, end, ...jsonFields(text) }
  }
}

const notUtf8 = 'the line is not UTF-8, or holds the character that stands for what was not (U+FFFD)'

/** Bytes that are no UTF-8 are all read as this character: two names of another encoding would become one. */
const isMisread = (text: string): boolean => text.includes('\ufffd')

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

async function* csvEntries(
  lines: AsyncIterable<FileLine>,
  { columns: given, checkColumns }: Pick<EntrySource, 'columns' | 'checkColumns'>,
): AsyncGenerator<FileEntry> {
  let columns = given
  for await (const record of csvRecords(lines, comma)) {
    const cells = parseCsvCells(record.text)
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
  for await (const { text } of csvRecords(splitLines(bytes, { position: 0, line: 0 }), comma)) {
    return parseCsvHead(parseCsvCells(text))
  }
  return parseCsvHead(undefined)
}

function parseCsvHead(cells: readonly string[] | undefined): string[] {
  const columns = (cells ?? []).map((cell) => cell.trim())
  if (columns.some((name) => name.includes('\r')))
    throw new UsageProblem('read CSV: its lines end with a carriage return alone, so that all of it is one line', {
      hint: 'Store it as CSV UTF-8, with lines that end with a newline.',
    })
  const duplicate = columns.find((name, index) => columns.indexOf(name) !== index)
  if (columns.includes('externalId') && duplicate === undefined) return columns
  throw new UsageProblem(
    duplicate === undefined
      ? 'read CSV: its first line has no column externalId'
      : `read CSV: two columns are named ${duplicate}`,
    { hint: 'The first line names the columns; docs/reference/cli.md lists them.' },
  )
}

function fieldsOf(columns: readonly string[], cells: readonly string[] | undefined, text: string | undefined) {
  if (text === undefined) return { fault: 'the line is longer than 1 MiB', text: '' }
  if (isMisread(text)) return { fault: notUtf8, text }
  if (cells === undefined)
    return { fault: 'the line is not CSV: a quote is not closed, or stands where none may', text }
  if (cells.length !== columns.length)
    return { fault: `the line has ${cells.length} cells, and there are ${columns.length} columns`, text }
  const filled = columns.flatMap((name, index) => (cells[index] ? [[name, cells[index]] as const] : []))
  return { fields: Object.fromEntries(filled) }
}

const comma = { delimiterIn: () => ',' }

const parseCsvCells = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : csvCells(text, { delimiter: ',', relax_quotes: false })
