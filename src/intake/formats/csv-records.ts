import { parse } from 'csv-parse/sync'
import type { FileLine } from './split-lines.ts'

/** A quoted cell may span several lines. After this many lines the quote counts as a mistake, and only its line is lost. */
const LINES_PER_RECORD_MAX = 50

type CsvRecord = FileLine & { readonly delimiter: string }

/** Joins the lines of quoted cells to the records of a table. The first record decides the delimiter. */
export async function* csvRecords(
  lines: AsyncIterable<FileLine>,
  { delimiterIn, linesBefore = 0 }: { readonly delimiterIn: (line: string) => string; readonly linesBefore?: number },
): AsyncGenerator<CsvRecord> {
  let delimiter: string | undefined
  let open: FileLine[] = []
  for await (const next of lines) {
    if (next.line <= linesBefore) continue
    delimiter ??= delimiterIn(next.text ?? '')
    open.push(next)
    const record = joinedRecordOf(open, delimiter)
    if (record) {
      yield record
      open = []
    } else if (open.length > LINES_PER_RECORD_MAX) open = yield* skipFirstLine(open, delimiter)
  }
  while (open.length > 0) open = yield* skipFirstLine(open, delimiter ?? '')
}

/** A quote that is never closed costs its own line: the lines after it are read as if the quote were not there. */
function* skipFirstLine([first, ...others]: readonly FileLine[], delimiter: string): Generator<CsvRecord, FileLine[]> {
  if (first) yield { ...first, delimiter }
  let open: FileLine[] = []
  for (const line of others) {
    open.push(line)
    const record = joinedRecordOf(open, delimiter)
    if (!record) continue
    yield record
    open = []
  }
  return open
}

/** The lines as one record, or undefined while a quote is open. */
function joinedRecordOf(lines: readonly FileLine[], delimiter: string): CsvRecord | undefined {
  const [first] = lines
  const last = lines.at(-1)
  if (!first || !last) return undefined
  if (lines.length === 1 && last.text === undefined) return { ...last, delimiter }
  if (lines.some(({ text }) => text === undefined)) return undefined
  const text = lines.map((line) => line.text).join('\n')
  return endsInQuotes(text, delimiter) ? undefined : { line: first.line, end: last.end, text, delimiter }
}

/** Whether the last cell begins with a quote that is not closed. */
function endsInQuotes(text: string, delimiter: string): boolean {
  if (!text.includes('"')) return false
  let at = 0
  for (;;) {
    if (text[at] === '"') {
      const closed = closingQuote(text, at + 1)
      if (closed === undefined) return true
      at = closed
    }
    const next = text.indexOf(delimiter, at)
    if (next === -1) return false
    at = next + delimiter.length
  }
}

/** The place of the quote that ends a cell; two quotes are one within it. */
function closingQuote(text: string, from: number): number | undefined {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return undefined
}

/** The cells of a record; undefined where a quote stands in the wrong place, which `relax_quotes` allows within a cell. */
export function csvCells(text: string, options: { delimiter: string; relax_quotes: boolean }): string[] | undefined {
  if (!text.includes('"')) return text.split(options.delimiter)
  try {
    return parse(text, { columns: false, relax_column_count: true, ...options })[0]
  } catch {
    return undefined // the reader of the record reports it
  }
}
