import { parse } from 'csv-parse/sync'
import { UsageProblem } from '../../errors.ts'
import { splitLines } from '../split-lines.ts'
import type { ExportFile } from './export-format.ts'

type Row = Readonly<Record<string, unknown>>
type Rows = { readonly rows: readonly Row[]; readonly bytesRead: number }

/** A list in JSON is parsed as a whole; exports write a file for each day or month, of some MB. */
const JSON_BYTES_MAX = 64 * 1024 * 1024
const ROWS_PER_BATCH = 1000

export async function* readJsonList(file: ExportFile): AsyncGenerator<Rows> {
  const chunks: Buffer[] = []
  let bytesRead = 0
  for await (const chunk of await file.open()) {
    bytesRead += chunk.length
    if (bytesRead > JSON_BYTES_MAX) throw new UsageProblem(`read ${file.name}: it is larger than 64 MiB`)
    chunks.push(chunk)
  }
  const list = parseJson(Buffer.concat(chunks).toString('utf8'), file.name)
  for (let at = 0; at < list.length; at += ROWS_PER_BATCH)
    yield { rows: list.slice(at, at + ROWS_PER_BATCH).map(rowOf), bytesRead }
}

function parseJson(text: string, name: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list)) return list
  } catch {
    // The message of the parser quotes the text.
  }
  throw new UsageProblem(`read ${name}: it is no whole list in JSON`)
}

const rowOf = (value: unknown): Row => (typeof value === 'object' && value !== null ? { ...value } : {})

/** The rows of a CSV whose first line names the columns, and in which no cell spans lines. */
export async function* readTableRows(file: ExportFile): AsyncGenerator<Rows> {
  let columns: readonly string[] | undefined
  let rows: Row[] = []
  for await (const { text, end } of splitLines(await file.open(), { position: 0, line: 0 })) {
    const cells = cellsOf(text)
    if (!columns) columns = cells.map((cell) => cell.trim())
    else if (text !== '') rows.push(Object.fromEntries(columns.map((name, index) => [name, cells[index]])))
    if (rows.length < ROWS_PER_BATCH) continue
    yield { rows, bytesRead: end }
    rows = []
  }
  yield { rows, bytesRead: file.sizeBytes }
}

function cellsOf(text: string | undefined): readonly string[] {
  if (text === undefined) return []
  if (!text.includes('"')) return text.split(',')
  try {
    return parse(text, { columns: false, relax_column_count: true })[0] ?? []
  } catch {
    return []
  }
}
