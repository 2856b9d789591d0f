import { parse } from 'csv-parse/sync'
import { UsageProblem } from '../errors.ts'
import { type Line, linesOf } from './lines.ts'

export const fileFormats = ['ndjson', 'csv'] as const
export type FileFormat = (typeof fileFormats)[number]

/** One entry of a file: its fields, or why it could not be read. `end` is the byte after it, where reading may go on. */
export type Entry = { readonly line: number; readonly end: number } & (
  | { readonly fields: Readonly<Record<string, unknown>> }
  | { readonly fault: string; readonly text: string }
)

export type Source = {
  readonly bytes: AsyncIterable<Buffer>
  readonly format: FileFormat
  readonly begin: { readonly position: number; readonly line: number }
  /** The names of the columns, when reading begins behind them. */
  readonly columns?: readonly string[] | undefined
}

/** By the end of its name, unless told otherwise. */
export function formatOf(file: string, told: FileFormat | undefined): FileFormat {
  if (told) return told
  if (/\.(ndjson|jsonl|json)$/i.test(file)) return 'ndjson'
  if (/\.csv$/i.test(file)) return 'csv'
  throw new UsageProblem('read file: its name does not tell whether it is NDJSON or CSV', {
    hint: 'Say it: --format ndjson or --format csv.',
  })
}

export function readEntries(source: Source): AsyncGenerator<Entry> {
  const lines = linesOf(source.bytes, source.begin)
  return source.format === 'csv' ? csvEntries(lines, source.columns) : jsonEntries(lines)
}

async function* jsonEntries(lines: AsyncIterable<Line>): AsyncGenerator<Entry> {
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

/** A quoted field may go over several lines; after so many the quote is taken for a slip, and only its line is lost. */
const LINES_PER_RECORD_MAX = 50

async function* csvEntries(lines: AsyncIterable<Line>, known: readonly string[] | undefined): AsyncGenerator<Entry> {
  let columns = known
  for await (const record of csvRecords(lines)) {
    const cells = record.text === undefined ? undefined : cellsOf(record.text)
    if (columns === undefined) {
      columns = headOf(cells)
      continue
    }
    if (record.text?.trim() === '') continue
    yield { line: record.line, end: record.end, ...fieldsOf(columns, cells, record.text) }
  }
}

/** The names of a file's columns. */
export async function columnsOf(bytes: AsyncIterable<Buffer>): Promise<string[]> {
  for await (const { text } of csvRecords(linesOf(bytes, { position: 0, line: 0 }))) {
    return headOf(text === undefined ? undefined : cellsOf(text))
  }
  return headOf(undefined)
}

function headOf(cells: readonly string[] | undefined): string[] {
  const columns = (cells ?? []).map((cell) => cell.trim())
  const twice = columns.find((name, index) => columns.indexOf(name) !== index)
  if (columns.includes('externalId') && twice === undefined) return columns
  throw new UsageProblem(
    twice === undefined
      ? 'read CSV: its first line has no column externalId'
      : `read CSV: two columns are named ${twice}`,
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

/** Joins lines while a quote is open. */
async function* csvRecords(lines: AsyncIterable<Line>): AsyncGenerator<Line> {
  let open: Line[] = []
  for await (const next of lines) {
    open.push(next)
    const whole = wholeOf(open)
    if (whole) {
      yield whole
      open = []
    } else if (open.length > LINES_PER_RECORD_MAX) open = yield* giveUpFirst(open)
  }
  while (open.length > 0) open = yield* giveUpFirst(open)
}

/** A quote that nothing closes costs its own line: those after it are read as if it had not been there. */
function* giveUpFirst([slip, ...others]: readonly Line[]): Generator<Line, Line[]> {
  if (slip) yield slip
  let open: Line[] = []
  for (const line of others) {
    open.push(line)
    const whole = wholeOf(open)
    if (!whole) continue
    yield whole
    open = []
  }
  return open
}

/** The lines as one record, or undefined while a quote is open. */
function wholeOf(lines: readonly Line[]): Line | undefined {
  const last = lines.at(-1)
  if (!last) return undefined
  if (lines.length === 1 && last.text === undefined) return last
  if (lines.some(({ text }) => text === undefined)) return undefined
  const text = lines.map((line) => line.text).join('\n')
  let quotes = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes += 1
  return quotes % 2 === 0 ? { line: lines[0]?.line ?? last.line, end: last.end, text } : undefined
}

function cellsOf(text: string): string[] | undefined {
  if (!text.includes('"')) return text.split(',')
  try {
    const [cells] = parse(text, { columns: false, relax_column_count: true })
    return cells
  } catch {
    return undefined // said line by line, by fieldsOf
  }
}
