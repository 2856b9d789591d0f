type Cell = string | number | null | undefined

/** Types whose values, as this service writes them, hold no character that an array literal must escape. */
const unescapedTypes = new Set(['uuid', 'float8', 'int', 'int2', 'timestamptz', 'date'])

/** A column of rows that `unnest` takes: its name, its type, and the value of a row. */
export type UnnestColumn<Row> = readonly [name: string, type: string, read: (row: Row) => Cell]

/** One array literal for each column, in the order of the columns. */
export function columnArrays<Row>(columns: ReadonlyArray<UnnestColumn<Row>>, rows: readonly Row[]): string[] {
  return columns.map(([, type, read]) =>
    arrayLiteral(unescapedTypes.has(type) ? plainCell : createQuotedCell(), rows, read),
  )
}

/** The parameters of `unnest`, from `$first` on, with their types: `$3::uuid[], $4::text[]`. */
export function unnestParameters(columns: ReadonlyArray<UnnestColumn<never>>, first: number): string {
  return columns.map(([, type], index) => `$${index + first}::${type}[]`).join(', ')
}

/**
 * Writes one column as an array literal of Postgres. The driver can do that too, but it inspects the type of each value
 * and runs a replacement over it, which took more than half of an upload's time in this process.
 */
function arrayLiteral<Row>(write: (cell: Cell) => string, rows: readonly Row[], read: (row: Row) => Cell): string {
  return `{${rows.map((row) => write(read(row))).join(',')}}`
}

function plainCell(value: Cell): string {
  return value === null || value === undefined ? 'null' : String(value)
}

/** Most texts of a column are the text of the row before: a source, a unit, a device. */
function createQuotedCell(): (value: Cell) => string {
  let former: { value: Cell; text: string } = { value: undefined, text: 'null' }
  return (value) => {
    if (value !== former.value) former = { value, text: quotedCell(value) }
    return former.text
  }
}

function quotedCell(value: Cell): string {
  if (value === null || value === undefined) return 'null'
  const text = String(value)
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`
}
