import { UnknownId } from '../../base/errors.ts'
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

type Acted = {
  /** How many there were of what was chosen. */
  readonly found: number
  readonly filter: { readonly ids?: readonly string[] | undefined }
  readonly named: readonly [what: string, listCommand: string]
  /** Empty: there was nothing to do. */
  readonly text: string
}

/** Prints what was done to what was chosen by ids or by a filter. */
export function printActed<N extends JsonResultName>(
  terminal: Terminal,
  result: readonly [command: N, value: JsonResult<N>],
  { found, filter, named, text }: Acted,
): void {
  const nothing = filter.ids ? [] : `Nothing to do: no ${named[0]} fits. The list: ${named[1]}.`
  if (terminal.json || text !== '' || !filter.ids) printResult(terminal, result, text || nothing)
  requireAllFound(found, filter, named)
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

/** An id that is of none is a fault of usage; a filter that matches nothing is done. */
function requireAllFound(
  found: number,
  { ids }: { readonly ids?: readonly string[] | undefined },
  [what, listCommand]: readonly [what: string, listCommand: string],
): void {
  const named = new Set(ids).size
  if (found >= named) return
  throw new UnknownId(
    named === 1
      ? `find ${what}: no ${what} has this id`
      : `find ${what}s: ${named - found} of ${named} ids are of none`,
    { hint: `The ids: ${listCommand}.` },
  )
}

/** Names the option that shows the rest of a list. */
export const sayMore = ({ say }: Terminal, shown: number): void =>
  say(`${formatNumber(shown)} shown, and there are more: --limit`)
