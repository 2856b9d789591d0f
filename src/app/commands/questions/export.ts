import { catalogue } from '../../../../config/streams.ts'
import { withCloseStack } from '../../../base/close-stack.ts'
import { UsageProblem } from '../../../base/errors.ts'
import { lockFile } from '../../../base/files/folder-lock.ts'
import type { FormulaHandling } from '../../../base/text/csv-cell.ts'
import { formatNumber } from '../../../base/text/readable.ts'
import { readExportState, type SavedExportState } from '../../../pipeline/export/export-state.ts'
import type { ExportFormat } from '../../../pipeline/export/formats.ts'
import {
  type ExportOutput,
  nothingWritten,
  openFileOutput,
  openPipeOutput,
  type WrittenPart,
} from '../../../pipeline/export/output.ts'
import { writeLake } from '../../../pipeline/export/write-lake.ts'
import { type ExportedStreams, type ExportOfStreams, writeStreams } from '../../../pipeline/export/write-streams.ts'
import { type CommandContext, exitCodes } from '../../terminal/command-context.ts'
import { readWarehouse } from '../../with-pipeline.ts'

type ExportOptions = {
  readonly stream: readonly string[]
  readonly format: ExportFormat
  /** For CSV; absent: defused. */
  readonly formulas?: FormulaHandling
  readonly since?: Date
  /** Absent: standard output. */
  readonly output?: string
  readonly state?: string
  /** For Parquet: a folder of files, one a month. */
  readonly partitionBy?: 'month'
}

/** Writes rows of the warehouse's public views to a file, a pipe or a lake. With a state file it resumes where it stopped. */
export async function runExport(context: CommandContext, options: ExportOptions): Promise<number> {
  requireConsistent(options)
  return withLocks(options, () => exportRows(context, options))
}

async function exportRows(context: CommandContext, options: ExportOptions): Promise<number> {
  const { terminal, signal } = context
  const { since, output: folder = '.' } = options
  const streams = catalogue.pulled.filter(({ name }) => options.stream.includes(name))
  const before = await readExportState(options.state)
  const onProgress = (stream: string, rows: number) => terminal.progress(`${stream}: ${formatNumber(rows)} rows`)
  const exported = await readWarehouse(context, (pool) => {
    const work = { pool, streams, since, signal, onProgress }
    return options.partitionBy === undefined ? writeOutput(work, options, before) : writeLake({ ...work, folder })
  }).finally(() => terminal.progressEnd())
  printSummary(context, options, exported)
  return signal.aborted ? exitCodes.failures : exitCodes.done
}

const lockWords = (kind: 'output' | 'state') => ({
  kind,
  inUse: 'another export writes it',
  inUseHint: `Let it end first, or choose another file with --${kind}.`,
  setting: `--${kind}`,
})

/** Two exports at once into one file would mix their rows, and with one state an export would go on behind rows that it never wrote. */
async function withLocks<T>({ output, state, format, partitionBy }: ExportOptions, work: () => Promise<T>): Promise<T> {
  return withCloseStack(async (closeStack) => {
    const lock = async (path: string, kind: 'output' | 'state') =>
      closeStack.add({ close: await lockFile(path, lockWords(kind)) }, kind)
    if (state !== undefined && format !== 'singer') await lock(state, 'state')
    if (output !== undefined && partitionBy === undefined) await lock(output, 'output')
    return work()
  })
}

async function writeOutput(
  work: Pick<ExportOfStreams, 'pool' | 'streams' | 'since' | 'signal' | 'onProgress'>,
  options: ExportOptions,
  before: SavedExportState,
): Promise<ExportedStreams> {
  const { format, formulas = 'defuse', state: stateFile } = options
  const isResumed = work.streams.some(({ name }) => before.bookmarks[name]?.after !== undefined)
  const output = await openOutput(options, isResumed ? before : nothingWritten)
  let isComplete = false
  try {
    const done = await writeStreams({ ...work, format, formulas, output, stateFile }, before)
    isComplete = !work.signal.aborted
    return done
  } finally {
    await output.close({ isComplete })
  }
}

function requireConsistent(options: ExportOptions): void {
  const { stream: streams, format, formulas, output, state, partitionBy } = options
  if (streams.length === 0) throw new UsageProblem('export: no stream', { hint: 'Name it: --stream scores.' })
  if (partitionBy !== undefined) {
    requireLake(options)
    return
  }
  if (new Set(streams).size > 1 && format !== 'singer')
    throw new UsageProblem(`export: ${format} takes one stream`, {
      hint: 'Only singer and --partition-by month take several at once.',
    })
  if (formulas !== undefined && format !== 'csv')
    throw new UsageProblem(`export: ${format} has no formulas`, { hint: 'Give --formulas with --format csv only.' })
  if (format === 'parquet' && output === undefined && process.stdout.isTTY)
    throw new UsageProblem('export: parquet is not for a terminal', { hint: 'Write it to a file: --output x.parquet.' })
  if (format === 'singer' && output !== undefined && state !== undefined)
    throw new UsageProblem('export: a singer export to a file keeps its state in the file', {
      hint: 'Pipe it into a target, and give the last STATE that the target says back with --state.',
    })
}

function requireLake({ format, output, state }: ExportOptions): void {
  if (format !== 'parquet')
    throw new UsageProblem(`export: --partition-by is of parquet, not of ${format}`, { hint: 'Add --format parquet.' })
  if (output === undefined)
    throw new UsageProblem('export: --partition-by needs a folder', { hint: 'Name it: --output lake.' })
  if (state !== undefined)
    throw new UsageProblem('export: --partition-by writes whole months and keeps no state', {
      hint: 'Give --since with the instant of the last export: the months that changed since are written.',
    })
}

async function openOutput({ output, format }: ExportOptions, kept: WrittenPart): Promise<ExportOutput> {
  if (output === undefined) return openPipeOutput()
  return openFileOutput(output, { kept, isInvalidUntilComplete: format === 'parquet' })
}

function printSummary(
  { terminal, signal }: CommandContext,
  { format, output }: ExportOptions,
  { streams, since, upto }: ExportedStreams,
): void {
  const summary = { streams, format, output: output ?? '-', since: since ?? null, upto }
  const rows = streams.map((stream) => `${formatNumber(stream.rows)} rows of ${stream.stream}`).join(', ')
  const sentence = `${rows} exported${signal.aborted ? ', stopped before the end' : ''}`
  // Standard output holds nothing but the rows.
  if (output === undefined) terminal.say(terminal.json ? JSON.stringify(summary) : sentence)
  else if (terminal.json) terminal.printJson('export', summary)
  else terminal.print(sentence)
}
