type Cell = string | number | null | undefined

/** Types whose values, as we write them, hold nothing that an array literal would have to escape. */
const plain = new Set(['uuid', 'float8', 'int', 'int2', 'timestamptz', 'date'])

/**
 * One column as Postgres reads an array. The driver would do it too, but looks at the kind of every single value and
 * runs a replacement over each: of an upload's cost in this process that was the larger half.
 */
export function arrayText(type: string, cells: readonly Cell[]): string {
  const cell = plain.has(type) ? plainCell : quotedCell
  return `{${cells.map(cell).join(',')}}`
}

function plainCell(value: Cell): string {
  return value === null || value === undefined ? 'null' : String(value)
}

function quotedCell(value: Cell): string {
  if (value === null || value === undefined) return 'null'
  const text = String(value)
  return /["\\]/.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : `"${text}"`
}
