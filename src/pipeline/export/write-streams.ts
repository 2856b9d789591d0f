import type { FormulaHandling } from '../../base/text/csv-cell.ts'
import { SECOND } from '../../base/time/units.ts'
import type { PulledStream } from '../transfer/stream.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import {
  columnsOfView,
  exportSinceWithOverlap,
  readDatabaseNow,
  readExportRows,
} from '../warehouse/reports/export-rows.ts'
import type { RowEncoder } from './encoder.ts'
import { type Bookmark, type ExportState, type SavedExportState, saveExportState } from './export-state.ts'
import { type ExportFormat, encoders } from './formats.ts'
import type { ExportOutput } from './output.ts'

export type ExportOfStreams = {
  readonly pool: Pool
  readonly streams: readonly PulledStream[]
  readonly format: ExportFormat
  /** For CSV. */
  readonly formulas: FormulaHandling
  readonly output: ExportOutput
  /** Only rows that changed after this instant, unless a bookmark says otherwise. */
  readonly since: Date | undefined
  /** Where the state is saved, once a second and at the end; Singer writes it into the output after every page. */
  readonly stateFile: string | undefined
  readonly signal: AbortSignal
  onProgress(stream: string, rows: number): void
}

type ExportedStream = { readonly stream: string; readonly rows: number }
export type ExportedStreams = {
  readonly streams: readonly ExportedStream[]
  readonly since: string | undefined
  readonly upto: string
}

/** Each save waits for the disk. A kill costs what was written since the last one. */
const SAVE_EVERY_MS = SECOND

/** Writes one stream after the other, each from its bookmark on. Aborted, it ends after the page under way. */
export async function writeStreams(work: ExportOfStreams, before: SavedExportState): Promise<ExportedStreams> {
  const isSinger = work.format === 'singer'
  const isResumable = isSinger || work.output.isResumable
  // The bytes of a state are those of one output: the unfinished export of another stream has to begin from the beginning.
  let state: ExportState = isSinger ? before : { bookmarks: finishedOf(before.bookmarks) }
  const written: ExportedStream[] = []
  const now = await readDatabaseNow(work.pool)
  let since: string | undefined
  let savedMs = performance.now()
  for (const stream of work.streams) {
    if (work.signal.aborted) break
    const known = (isResumable ? before : state).bookmarks[stream.name] ?? {}
    const begin = beginOf(work, known, now)
    since = begin.since
    const save = async (bookmark: Bookmark, encoder: RowEncoder) => {
      state = { bookmarks: { ...state.bookmarks, [stream.name]: bookmark } }
      await work.output.write(encoder.state(state))
      const isLost = bookmark.after !== undefined && !isResumable
      if (isSinger || isLost || work.stateFile === undefined) return
      const isLast = bookmark.after === undefined || work.signal.aborted
      if (!isLast && performance.now() - savedMs < SAVE_EVERY_MS) return
      await saveExportState(work.stateFile, { ...state, ...(await work.output.flush()) })
      savedMs = performance.now()
    }
    written.push({ stream: stream.name, rows: await writeStream({ ...work, stream, begin, save }) })
  }
  return { streams: written, since, upto: now }
}

/** The bookmarks of finished exports, without those of unfinished ones. */
const finishedOf = (bookmarks: ExportState['bookmarks']): ExportState['bookmarks'] =>
  Object.fromEntries(Object.entries(bookmarks).map(([stream, { since }]) => [stream, { since }]))

type Begin = {
  readonly since: string | undefined
  readonly upto: string
  readonly after: string
  /** Whether an export that was stopped is carried on. */
  readonly isResumed: boolean
}

function beginOf({ since }: ExportOfStreams, known: Bookmark, now: string): Begin {
  if (known.after !== undefined && known.upto !== undefined)
    return { since: known.since, upto: known.upto, after: known.after, isResumed: true }
  return { since: since?.toISOString() ?? known.since, upto: now, after: '0', isResumed: false }
}

type ExportOfStream = ExportOfStreams & {
  readonly stream: PulledStream
  readonly begin: Begin
  save(bookmark: Bookmark, encoder: RowEncoder): Promise<void>
}

async function writeStream(work: ExportOfStream): Promise<number> {
  const { pool, stream, begin, output, signal, save } = work
  const { since, upto } = begin
  const columns = await columnsOfView(pool, stream)
  const encoder = encoders[work.format](work.formulas)
  const head = encoder.head(stream.name, columns)
  if (!begin.isResumed || work.format === 'singer') await output.write(head)
  let count = 0
  for await (const page of readExportRows(pool, { stream, columns, since, afterId: begin.after })) {
    if (page.rows.length > 0) await output.write(encoder.rows(page.rows))
    count += page.rows.length
    work.onProgress(stream.name, count)
    if (page.afterId === undefined) continue
    await save({ since, upto, after: page.afterId }, encoder)
    if (signal.aborted) return count
  }
  await output.write(encoder.tail())
  await save({ since: exportSinceWithOverlap(upto) }, encoder)
  return count
}
