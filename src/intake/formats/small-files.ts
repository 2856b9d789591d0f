import { UsageProblem } from '../../base/errors.ts'
import { csvCells, csvRecords } from './csv-records.ts'
import type { ExportFile, FileHead } from './export-format.ts'
import { splitLines } from './split-lines.ts'

export type SourceRow = Readonly<Record<string, unknown>>
type RowBatch = { readonly rows: readonly SourceRow[]; readonly bytesRead: number }
/** Reads a file as rows: the objects of a list in JSON, or the lines of a table. */
export type RowReader = (file: ExportFile, head: FileHead) => AsyncIterable<RowBatch>

/** A file in JSON is parsed as a whole; exports write a file for each day or month, of some MB. */
const WHOLE_BYTES_MAX = 64 * 1024 * 1024
const ROWS_PER_BATCH = 1000

/** All bytes of a file that is read as a whole. */
export async function wholeFile(file: ExportFile): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of await file.open()) {
    length += chunk.length
    if (length > WHOLE_BYTES_MAX) throw new UsageProblem(`read ${file.name}: it is larger than 64 MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** The objects that `listOf` finds in a file of JSON. Undefined: the file is no such file. */
export const jsonRows = (listOf: (value: unknown) => readonly unknown[] | undefined): RowReader =>
  async function* (file) {
    const bytes = await wholeFile(file)
    const list = listOf(parseJson(bytes.toString('utf8'), file.name))
    if (!list) throw noWholeList(file.name)
    for (let at = 0; at < list.length; at += ROWS_PER_BATCH)
      yield { rows: list.slice(at, at + ROWS_PER_BATCH).map(rowOf), bytesRead: bytes.length }
  }

export const readJsonList = jsonRows((value) => (Array.isArray(value) ? value : undefined))

/** A file with one object per line, or else the objects that `listOf` finds in the whole file. */
export const jsonLinesOrRows = (listOf: (value: unknown) => readonly unknown[] | undefined): RowReader => {
  const readWhole = jsonRows(listOf)
  return (file, head) => (hasJsonLines(head) ? readJsonLines(file, head) : readWhole(file, head))
}

/** An object per line. A line that is no object gives an empty row, so that its place is reported. */
const readJsonLines: RowReader = async function* (file) {
  let rows: SourceRow[] = []
  for await (const { text, end } of splitLines(await file.open(), { position: 0, line: 0 })) {
    if (text?.trim() !== '') rows.push(lineOf(text ?? ''))
    if (rows.length < ROWS_PER_BATCH) continue
    yield { rows, bytesRead: end }
    rows = []
  }
  yield { rows, bytesRead: file.sizeBytes }
}

function lineOf(text: string): SourceRow {
  try {
    return rowOf(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Whether the file has one object per line: the first ends with its line, or fills all of the beginning. */
function hasJsonLines({ text }: FileHead): boolean {
  const [first = '', ...others] = text
    .replace(/^\uFEFF/, '')
    .trimStart()
    .split('\n')
  return first.startsWith('{') && (others.length === 0 || first.trimEnd().endsWith('}'))
}

const noWholeList = (name: string) => new UsageProblem(`read ${name}: it is no whole list in JSON`)

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch {
    // The message of the parser quotes the text.
    throw noWholeList(name)
  }
}

const rowOf = (value: unknown): SourceRow => (typeof value === 'object' && value !== null ? { ...value } : {})

/** The rows of a table, which has `linesBefore` before the line that names its columns. They are separated by commas, semicolons or tabs. */
export const tableRows = ({ linesBefore }: { readonly linesBefore: number }): RowReader =>
  async function* (file) {
    let columns: readonly string[] | undefined
    let rows: SourceRow[] = []
    const lines = splitLines(await file.open(), { position: 0, line: 0 })
    for await (const { text, end, delimiter } of csvRecords(lines, { delimiterIn, linesBefore })) {
      const cells = cellsOf(text, delimiter)
      if (!columns) columns = cells.map((cell) => cell.trim())
      else if (text !== '') rows.push(Object.fromEntries(columns.map((name, index) => [name, cells[index]])))
      if (rows.length < ROWS_PER_BATCH) continue
      yield { rows, bytesRead: end }
      rows = []
    }
    yield { rows, bytesRead: file.sizeBytes }
  }

export const readTableRows = tableRows({ linesBefore: 0 })

/** The delimiter that occurs most in the line that names the columns. */
function delimiterIn(line: string): string {
  const counted = [',', ';', '\t'].map((sign) => ({ sign, count: line.split(sign).length }))
  return counted.reduce((most, next) => (next.count > most.count ? next : most)).sign
}

/** The columns that the first line of a file names. */
export function columnsIn({ text }: FileHead): ReadonlySet<string> {
  const named = text.replace(/^\uFEFF/, '').split(/\r?\n/)[0] ?? ''
  return new Set(cellsOf(named, delimiterIn(named)).map((cell) => cell.trim()))
}

/** The cells of the first row, as far as the beginning of the file has it. */
export function firstRowIn({ text }: FileHead): readonly string[] {
  const [named = '', row] = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  return cellsOf(row, delimiterIn(named))
}

/** Recognises tables that have all of these columns. */
export const hasColumns =
  (...columns: readonly string[]) =>
  (head: FileHead): boolean => {
    const named = columnsIn(head)
    return columns.every((column) => named.has(column))
  }

const cellsOf = (text: string | undefined, delimiter: string): readonly string[] =>
  (text === undefined ? undefined : csvCells(text, { delimiter, relax_quotes: true })) ?? []
