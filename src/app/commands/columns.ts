import { pulledStreams } from '../../../config/streams.ts'
import { UsageProblem } from '../../base/errors.ts'
import { formatMinute, formatNumber, formatPercent } from '../../base/text/readable.ts'
import type { NewColumn, PulledStream } from '../../pipeline/transfer/stream.ts'
import {
  type AddedColumn,
  addColumn,
  countMisfits,
  dropColumn,
  listAddedColumns,
} from '../../pipeline/warehouse/added-columns.ts'
import { fillColumns } from '../../pipeline/warehouse/fill-columns.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printList, printResult } from '../terminal/print-result.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

function streamOf(name: string): PulledStream {
  const stream = pulledStreams.find((pulled) => pulled.name === name)
  if (!stream)
    throw new UsageProblem(`there is no stream ${name}`, { hint: 'vitalsync columns add --help lists them.' })
  return stream
}

export async function runColumnsAdd(
  context: CommandContext,
  { stream, ...column }: NewColumn & { stream: string },
): Promise<void> {
  const { terminal, signal } = context
  const added = await withWarehouse(context, async (pool) => {
    await addColumn(pool, streamOf(stream), column)
    const find = async () =>
      (await listAddedColumns(pool)).find((each) => each.stream === stream && each.name === column.name)
    await fillColumns(pool, pulledStreams, signal, async () => {
      const state = await find()
      if (state) terminal.progress(`filling ${stream}.${column.name}: ${progressText(state)}`)
    })
    terminal.progressEnd()
    const state = await find()
    return state && (await withMisfits(pool, state))
  })
  if (!added) return // dropped meanwhile
  printResult(
    terminal,
    ['columns add', added],
    added.filledAt
      ? `${stream}.${column.name} is filled: ${formatNumber(added.filledRows)} records, ${formatNumber(added.misfits)} that do not fit. See warehouse.${streamOf(stream).table}_added.`
      : `${stream}.${column.name} is added, ${progressText(added)} filled. Workers fill the rest.`,
  )
}

export async function runColumnsList(context: CommandContext): Promise<void> {
  const columns = await readWarehouse(context, async (pool) => {
    const found = []
    for (const column of await listAddedColumns(pool)) found.push(await withMisfits(pool, column))
    return found
  })
  printList(context.terminal, ['columns list', columns], {
    none: 'No column was added.',
    head: ['stream', 'column', 'path', 'type', 'added', 'filled', 'do not fit'],
    cells: (column) => [
      column.stream,
      column.name,
      column.path,
      column.type,
      formatMinute(column.addedAt),
      column.filledAt ? formatMinute(column.filledAt) : progressText(column),
      formatNumber(column.misfits),
    ],
  })
}

export async function runColumnsDrop(
  context: CommandContext,
  { stream, name }: { stream: string; name: string },
): Promise<void> {
  const dropped = await withWarehouse(context, (pool) => dropColumn(pool, streamOf(stream), name))
  printResult(
    context.terminal,
    ['columns drop', { dropped }],
    dropped ? `${stream}.${name} is dropped.` : `Nothing to do: ${stream} has no added column ${name}.`,
  )
}

const withMisfits = async (pool: Pool, column: AddedColumn) => ({
  ...column,
  misfits: await countMisfits(pool, streamOf(column.stream), column),
})

/** How far a fill is. */
export function progressText({ filledRows, tableRows }: Pick<AddedColumn, 'filledRows' | 'tableRows'>): string {
  const share = tableRows > 0 ? ` (about ${formatPercent(Math.min(1, filledRows / tableRows))})` : ''
  return `${formatNumber(filledRows)} records${share}`
}
