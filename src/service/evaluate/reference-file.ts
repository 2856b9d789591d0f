import { parse } from 'csv-parse/sync'
import { UsageProblem } from '../../base/errors.ts'

/** A reference figure: a value measured for a person on a local day. */
export type ReferenceFigure = {
  readonly externalId: string
  readonly date: string
  readonly name: string
  readonly value: number
}

const columns = ['externalId', 'date', 'name', 'value'] as const
/** More would not fit into memory beside the derived values. */
const figuresMax = 200_000
const namesMax = 20

const hint = 'The first line names the columns: externalId,date,name,value. A date is a local day such as 2026-07-11.'

/** Reads daily reference figures from CSV. An error names the line and the column, and shows no value. */
export function parseReferenceFigures(text: string): ReferenceFigure[] {
  const lines = linesOf(text)
  const head = lines[0] ?? []
  const missing = columns.filter((column) => !head.includes(column))
  if (missing.length > 0) throw new UsageProblem(`read reference figures: there is no column ${missing[0]}`, { hint })
  if (lines.length - 1 > figuresMax) {
    throw new UsageProblem(`read reference figures: there are more than ${figuresMax} lines`, {
      hint: 'Split the file by name; each name is evaluated alone anyway.',
    })
  }
  const figures = lines.slice(1).map((cells, index) => figureOf(head, cells, index + 2))
  if (new Set(figures.map(({ name }) => name)).size > namesMax) {
    throw new UsageProblem(`read reference figures: there are more than ${namesMax} names`, { hint })
  }
  return figures
}

function linesOf(text: string): string[][] {
  try {
    return parse(text, { bom: true, relax_column_count: true, skip_empty_lines: true, trim: true })
  } catch {
    // The parser's message quotes the line, which may hold a health value.
    throw new UsageProblem('read reference figures: the file is no CSV', { hint })
  }
}

function figureOf(head: readonly string[], cells: readonly string[], line: number): ReferenceFigure {
  const cell = (column: string) => cells[head.indexOf(column)] ?? ''
  const refuse = (column: string) => new UsageProblem(`read reference figures: line ${line} has no ${column}`, { hint })
  const [externalId, date, name] = [cell('externalId'), cell('date'), cell('name')]
  const value = cell('value') === '' ? Number.NaN : Number(cell('value'))
  if (externalId === '') throw refuse('externalId')
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || Number.isNaN(Date.parse(date))) throw refuse('date')
  if (name === '') throw refuse('name')
  if (!Number.isFinite(value)) throw refuse('value')
  return { externalId, date, name, value }
}
