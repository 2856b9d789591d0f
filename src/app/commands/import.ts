import { catalogue, pushedStreams } from '../../../config/streams.ts'
import type { StrangeType } from '../../base/contract/data-types.ts'
import { UsageProblem } from '../../base/errors.ts'
import { closestWord } from '../../base/text/closest-word.ts'
import { formatCount, formatNumber } from '../../base/text/readable.ts'
import { createOffsetCompleter } from '../../intake/complete-offsets.ts'
import { type FileFormat, fileFormatOf, readCsvColumns, readEntries } from '../../intake/file-entries.ts'
import { exportFormats } from '../../intake/formats/known-formats.ts'
import { importRows, type RowProgress } from '../../intake/import-rows.ts'
import { readBytesFrom } from '../../intake/input-file.ts'
import { openResumableFile } from '../../intake/kept-progress.ts'
import { csvColumnsOf, fileRows, requiredColumnsOf, unknownColumns } from '../../intake/outbox-items.ts'
import { openRejectsFile } from '../../intake/rejects-file.ts'
import { asTyped } from '../../operations/select-profiles.ts'
import type { PushedStream } from '../../pipeline/transfer/stream.ts'
import { createImports } from '../../pipeline/warehouse/outbox/import-progress.ts'
import { createOutbox } from '../../pipeline/warehouse/outbox/outbox.ts'
import { addedPeopleLines, type NewPeopleOptions, withImportWarehouse } from '../imported-people.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

type ImportOptions = NewPeopleOptions & {
  /** The name of the stream. */
  readonly what: string
  readonly file: string
  /** `ndjson` or `csv`; absent: by the name of the file. */
  readonly format?: string
  readonly timeZone?: string
  readonly rejects?: string
  readonly replace: boolean
  /** Reads from the beginning, however far an earlier import came. */
  readonly again: boolean
}

/** Adds a file to the outbox; the next sync pushes it. Stopped anywhere, the same command resumes. */
export async function runImport(context: CommandContext, options: ImportOptions): Promise<number> {
  const { terminal } = context
  const { what, file, timeZone = 'UTC', replace, again } = options
  const stream = streamOf(what)
  const format = await fileFormatOf(file, options.format)
  const rejectsPath = options.rejects ?? (file === '-' ? 'stdin.rejects.ndjson' : `${file}.rejects.ndjson`)
  const result = await withImportWarehouse(context, options, async ({ pool, closeStack, people }) => {
    const readAs = [format, timeZone, replace]
    const opening = openResumableFile(file, { imports: createImports({ pool }), stream: stream.name, readAs, again })
    const input = closeStack.add(await opening, file)
    const { begin, sizeBytes } = input
    if (input.isResumed) terminal.say(`carrying on behind line ${formatNumber(begin.line)}`)
    const rejects = closeStack.add(openRejectsFile(rejectsPath, begin.rejectsBytes), 'rejects')
    const strange = new Map<string, StrangeCount>()
    const rows = await openRows({
      ...options,
      stream,
      timeZone,
      format,
      begin,
      onStrangeType: (type) => countStrange(strange, type),
    })
    const progress = await importRows(rows, begin, {
      resolve: people.resolve,
      add: createOutbox({ pool, catalogue, firstReadingMs: context.config.settle.intervalsMs[0] ?? 0, now: Date.now })
        .add,
      signal: context.signal,
      reject: rejects.write,
      async progressed(now) {
        await input.save({ ...now, rejectsBytes: rejects.bytes() })
        showProgress(terminal, now, sizeBytes)
      },
    }).finally(() => terminal.progressEnd())
    const finished = !context.signal.aborted
    if (finished) await input.finish()
    const added = [...people.added]
    return { progress, finished, added, resumedAtLine: begin.line, strange: [...strange.values()] }
  })
  return printResult(terminal, { ...result, kind: stream.name, rejectsPath, mustExist: options.mustExist })
}

function streamOf(what: string): PushedStream {
  const stream = pushedStreams.find(({ name }) => name === what)
  if (stream) return stream
  // The most frequent imports first, which is the reverse of the order of pushing.
  const kinds = pushedStreams.map(({ name }) => name).toReversed()
  throw new UsageProblem(`before a file goes its kind. Allowed choices are ${kinds.join(', ')}.`, {
    hint: 'Examples: vitalsync import --help',
  })
}

type ImportResult = Pick<NewPeopleOptions, 'mustExist'> & {
  readonly kind: string
  readonly progress: RowProgress
  readonly rejectsPath: string
  readonly added: readonly string[]
  readonly finished: boolean
  readonly resumedAtLine: number
  readonly strange: readonly StrangeCount[]
}

type StrangeCount = StrangeType & { lines: number }

/** How many types are counted: a column that is mistaken for the type has a new value on each line. */
const strangeTypesMax = 20

function countStrange(counts: Map<string, StrangeCount>, strange: StrangeType): void {
  const known = counts.get(strange.type)
  if (known) known.lines += 1
  else if (counts.size < strangeTypesMax) counts.set(strange.type, { ...strange, lines: 1 })
}

function strangeText({ type, closest, lines }: StrangeCount): string {
  const meant = closest ? `, is ${closest} meant?` : ''
  return `${formatCount(lines, 'line')} of a type from which nothing is derived: ${asTyped(type)}${meant}`
}

/** Names the next step: only added logs can be pushed. */
function nextText({ accepted, duplicate, rejected }: RowProgress): string {
  if (accepted > 0) return 'The next sync pushes them: vitalsync sync'
  if (duplicate > 0) return `Nothing is new: ${rejected > 0 ? 'what fits' : 'all of it'} is here already.`
  return 'Nothing was added.'
}

function printResult(terminal: Terminal, result: ImportResult): number {
  const { kind, progress, rejectsPath, finished, resumedAtLine, strange, added } = result
  const { read, accepted, duplicate, rejected } = progress
  const counts = { read, accepted, duplicate, rejected }
  const rejects = rejected > 0 ? rejectsPath : null
  if (terminal.json) {
    const strangeTypes = strange.map(({ type, closest = null, lines }) => ({ type, closest, lines }))
    const addedProfiles = added.length
    terminal.printJson('import', { kind, resumedAtLine, ...counts, addedProfiles, rejects, finished, strangeTypes })
  } else {
    terminal.print(countsText(progress, ', '))
    for (const line of addedPeopleLines(added, result)) terminal.print(line)
    for (const type of strange) terminal.print(strangeText(type))
    if (rejects) terminal.print(`The rejected lines with their reasons: ${rejects}`)
    terminal.print(finished ? nextText(progress) : 'Stopped: the same command carries on.')
  }
  return finished && rejected === 0 ? exitCodes.done : exitCodes.failures
}

const countsText = ({ read, accepted, duplicate, rejected }: RowProgress, separator: string): string =>
  Object.entries({ read, accepted, duplicate, rejected })
    .map(([name, count]) => `${formatNumber(count)} ${name}`)
    .join(separator)

const showProgress = (terminal: Terminal, now: RowProgress, sizeBytes: number | undefined): void =>
  terminal.progress(countsText(now, ' · '), sizeBytes ? now.position / sizeBytes : undefined)

type Opening = Pick<ImportOptions, 'file' | 'replace'> & {
  stream: PushedStream
  timeZone: string
  format: FileFormat
  begin: { readonly position: number; readonly line: number }
  onStrangeType: (strange: StrangeType) => void
}

async function openRows(opening: Opening) {
  const { file, stream, timeZone, replace, format, begin, onStrangeType } = opening
  const checkColumns = (columns: readonly string[]) => requireColumns(stream, columns)
  const columns = format === 'csv' && file !== '-' ? await readCsvColumns(await readBytesFrom(file, 0)) : undefined
  if (columns) checkColumns(columns)
  const bytes = await readBytesFrom(file, begin.position)
  const completeOffset = timeZone === 'UTC' ? (text: string) => text.replace(' ', 'T') : createOffsetCompleter(timeZone)
  const entries = readEntries({
    bytes,
    format,
    begin,
    columns: begin.position > 0 ? columns : undefined,
    checkColumns,
  })
  return fileRows(entries, { stream, format, completeOffset, replace, nowMs: Date.now(), onStrangeType })
}

/** Columns that no item has would be lost, and without a required column every line would be rejected: both are reported once. */
function requireColumns(stream: PushedStream, columns: readonly string[]): void {
  const unknown = unknownColumns(stream, columns)
  const missing = requiredColumnsOf(stream).filter((name) => !columns.includes(name))
  const [first] = unknown
  if (first === undefined) {
    if (missing.length === 0) return
    throw new UsageProblem(
      `read CSV: ${stream.name} need the column ${missing.join(', ')}, and the first line has none`,
      {
        hint: `Required are externalId, ${requiredColumnsOf(stream).join(', ')}.`,
      },
    )
  }
  const known = csvColumnsOf(stream)
  const meant = closestWord(first, known)
  throw new UsageProblem(`read CSV: ${stream.name} have no column ${unknown.join(', ')}`, {
    hint: `${meant ? `Did you mean ${meant}? ` : ''}The columns: externalId, ${known.join(', ')}. Further properties: additionalProperties.<name>.`,
  })
}

/** Lists the health exports that `vitalsync import` recognises. */
export function runImportFormats({ terminal }: Pick<CommandContext, 'terminal'>): void {
  if (terminal.json)
    for (const { name, title, files } of exportFormats) terminal.printJson('import formats', { name, title, files })
  else {
    terminal.print(
      formatTable(
        ['format', 'from', 'files'],
        exportFormats.map(({ name, title, files }) => [name, title, files]),
      ),
    )
    terminal.print('Beside them: data-logs, tags, demographics and device-information as NDJSON or CSV of our own.')
  }
}
