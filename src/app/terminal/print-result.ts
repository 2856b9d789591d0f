import { formatNumber } from '../../base/text/readable.ts'
import type { JsonResult, JsonResultName } from '../results/json-results.ts'
import { formatTable, type TableCell } from './table.ts'
import type { Terminal } from './terminal.ts'

/** Prints a result: with --json as JSON, else as text. */
export function printResult<N extends JsonResultName>(
  terminal: Terminal,
  result: readonly [command: N, value: JsonResult<N>],
  text: string | readonly string[],
): void {
  if (terminal.json) terminal.printJson(...result)
  else terminal.print([text].flat().join('\n'))
}

type List<Row> = {
  readonly head: readonly string[]
  readonly cells: (row: Row) => readonly TableCell[]
  /** Printed in place of a table without rows. */
  readonly none: string
  /** How many are printed of what was found; absent: all. */
  readonly limit?: number
}

/** Prints a list: with --json an object a line, else a table. */
export function printList<N extends JsonResultName, Row extends JsonResult<N>>(
  terminal: Terminal,
  [command, found]: readonly [command: N, found: readonly Row[]],
  { head, cells, none, limit = found.length }: List<Row>,
): void {
  const shown = found.slice(0, limit)
  if (terminal.json) for (const row of shown) terminal.printJson(command, row)
  else terminal.print(shown.length === 0 ? none : formatTable(head, shown.map(cells), terminal.paint))
  if (found.length > limit) sayMore(terminal, limit)
}

/** Names the option that shows the rest of a list. */
export const sayMore = ({ say }: Terminal, shown: number): void =>
  say(`${formatNumber(shown)} shown, and there are more: --limit`)
