import { UsageProblem } from '../base/errors.ts'
import { printableLine } from '../base/text/readable.ts'
import { MINUTE } from '../base/time/units.ts'
import { createWallClock } from './complete-offsets.ts'
import { isZip } from './export-files.ts'
import { createFileTally, type FileReport, type FileTally } from './file-report.ts'
import type { ExportFile, FileHead, HealthFormat, LogDraft, ReadOptions, RecordBatch } from './formats/export-format.ts'
import { columnsIn } from './formats/small-files.ts'
import { createHealthItems, type HealthItem, type HealthItemOptions } from './health-items.ts'
import { type ImportRow, type ImportTarget, importRows, type RowProgress, type ShownRow } from './import-rows.ts'
import { isOfMachine } from './input-file.ts'
import { createThinnedHeartRate, type HeartRateDetail } from './thinned-heart-rate.ts'
import { asUtf8 } from './utf8-text.ts'

type HealthIntake = {
  readonly files: readonly ExportFile[]
  readonly formats: readonly HealthFormat[]
  readonly itemOptions: Omit<HealthItemOptions, 'vendor'>
  readonly heartRate: HeartRateDetail
  /** `position` counts items: an earlier import of the same files stored those up to there, and they are not stored again. */
  readonly begin: RowProgress
  readonly target: ImportTarget
  /** Called often, with the bytes that were read so far. */
  readBytes(file: string, bytes: number): void
}

const HEAD_BYTES = 4096

/**
 * Reads the files of an export one after the other, and stores their logs as items, batch by batch. The files are
 * read in the same order each time, so an import that was stopped goes on after the items that it stored. When the target's `signal`
 * is aborted it stores the batch that it has, and ends.
 */
export async function importHealthFiles(intake: HealthIntake) {
  const { files, formats, target } = intake
  const reports: FileReport[] = []
  const unread = createUnreadFiles(formats)
  const counts = { items: 0, records: 0, bytes: 0 }
  let progress: RowProgress = { ...intake.begin, read: 0, rejected: 0 }
  for (const file of files.map(asUtf8)) {
    if (target.signal.aborted) break
    const head = await readHead(file)
    const format = isZip(head.bytes) ? undefined : formats.find(({ detects }) => detects(head))
    if (format) {
      const before = progress
      const tally = createFileTally(file.name, format.name)
      progress = await importRows(rowsOfFile(intake, { file, head, format, tally, counts }), before, target)
      reports.push(tally.report(before, progress))
    } else unread.add(file, head)
    counts.bytes += file.sizeBytes
  }
  return { reports, unread: unread.list(), progress }
}

/** The beginning, as far as it can be read: where the file breaks, its reader says so. */
async function readHead(file: ExportFile): Promise<FileHead> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of await file.open()) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= HEAD_BYTES) break
    }
  } catch {
    // A format is found by as much as is there.
  }
  const bytes = Buffer.concat(chunks).subarray(0, HEAD_BYTES)
  return { name: file.name, bytes, text: bytes.toString('utf8') }
}

const RECENT_NAMES_MAX = 20_000

/**
 * The names of the last items, at least `RECENT_NAMES_MAX`, and when their source changed them last: copies of a record are near it. A
 * full map becomes the former one, for to delete the oldest name of a map costs more than all else of making an item.
 */
function createRecentNames() {
  let changedMs = new Map<string, number>()
  let former: ReadonlyMap<string, number> = changedMs
  return {
    isNewest(name: string, modifiedMs = Number.NEGATIVE_INFINITY): boolean {
      const known = changedMs.get(name) ?? former.get(name)
      if (known !== undefined && modifiedMs <= known) return false
      if (changedMs.size >= RECENT_NAMES_MAX) {
        former = changedMs
        changedMs = new Map()
      }
      changedMs.set(name, modifiedMs)
      return true
    },
  }
}

type OpenedFile = {
  readonly file: ExportFile
  readonly head: FileHead
  readonly format: HealthFormat
  readonly tally: FileTally
  /** All items, records and bytes since the first file. */
  readonly counts: { items: number; records: number; readonly bytes: number }
}

async function* rowsOfFile(intake: HealthIntake, opened: OpenedFile): AsyncGenerator<readonly ImportRow[]> {
  const { rowsOf, heldBack } = createRowReader(intake, opened)
  for await (const batch of readWhole(opened, intake)) {
    yield rowsOf(batch)
    intake.readBytes(opened.file.name, opened.counts.bytes + batch.bytesRead)
    if (intake.target.signal.aborted) return
  }
  yield heldBack()
}

/**
 * Makes rows of the records of one file, and counts what becomes of each. Duplicate keys in one file: the most recently modified
 * item counts, else the first, so that importing the file again changes nothing. A later file replaces items of an earlier file, but for forms that their source changed
 * later (see `Outbox.add`).
 */
function createRowReader(intake: HealthIntake, { file, format, tally, counts }: OpenedFile) {
  const { externalId } = intake.itemOptions
  const items = createHealthItems({ ...intake.itemOptions, vendor: format.vendor })
  const thinned = createThinnedHeartRate(intake.heartRate)
  const recent = createRecentNames()
  const reached = () => ({ position: counts.items, line: counts.records })
  const rejected = (fault: string, shown: () => ShownRow): ImportRow => {
    tally.reject(fault)
    return { ...reached(), fault, shown }
  }
  /** The row of an item; undefined where an earlier import stored it. */
  const itemRow = ({ item, localDay }: HealthItem, modifiedMs: number | undefined, shown: () => ShownRow) => {
    tally.day(localDay)
    counts.items += 1
    tally.counts.logs += 1
    const isNewest = recent.isNewest(item.itemKey, modifiedMs)
    const { position, line } = reached()
    if (position > intake.begin.position)
      return isNewest ? { position, line, externalId, item, shown } : { position, line, isReplaced: true as const }
    tally.counts.before += 1
    return undefined
  }
  /** Appends the rows of drafts; returns whether every draft became an item. */
  const addDrafts = (rows: ImportRow[], drafts: readonly LogDraft[], placeText: () => string): boolean => {
    let areWhole = true
    for (const draft of drafts) {
      const shown = () => ({ file: file.name, place: placeText(), text: draftText(draft) })
      const made = items.itemOf(draft)
      const row = 'fault' in made ? rejected(made.fault, shown) : itemRow(made, draft.origin.modifiedMs, shown)
      if (row) rows.push(row)
      areWhole &&= !('fault' in made)
    }
    return areWhole
  }
  return {
    heldBack(): readonly ImportRow[] {
      const rows: ImportRow[] = []
      addDrafts(rows, thinned.end(), () => 'averages')
      return rows
    },
    rowsOf({ records, counted }: RecordBatch): readonly ImportRow[] {
      const rows: ImportRow[] = []
      for (const record of records) {
        tally.counts.read += 1
        counts.records += 1
        const placeText = () => (typeof record.place === 'number' ? `${counted} ${record.place}` : record.place)
        const outcome = 'draft' in record ? (items.refusalOf(record.draft) ?? record) : record
        if ('leftOut' in outcome) tally.leaveOut(outcome.leftOut)
        else if ('fault' in outcome) {
          const text = 'draft' in record ? draftText(record.draft) : 'text' in record ? record.text : ''
          rows.push(rejected(outcome.fault, () => ({ file: file.name, place: placeText(), text })))
        } else {
          const drafts = thinned.put(outcome.draft)
          if (drafts === false) tally.leaveOut('came after its minute was averaged')
          else {
            tally.device(outcome.draft)
            if (addDrafts(rows, drafts, placeText)) tally.counts.mapped += 1
          }
        }
      }
      return rows
    },
  }
}

const draftText = ({ origin, ...measured }: LogDraft): string => JSON.stringify({ ...origin, ...measured })

/**
 * A file that breaks in the middle costs only its rest: the break is a record that could not be read. When `signal` is aborted
 * the file ends at the next chunk, also where a reader takes it as a whole.
 */
async function* readWhole(
  { file, format, head }: OpenedFile,
  { itemOptions: { timeZone }, target: { signal } }: HealthIntake,
): AsyncGenerator<RecordBatch> {
  let bytesRead = 0
  const stopping = { ...file, open: async () => chunksUntil(signal, await file.open()) }
  try {
    for await (const batch of format.read(stopping, { head, localInstant: localClock(timeZone) })) {
      bytesRead = batch.bytesRead
      yield batch
    }
  } catch (error) {
    if (signal.aborted) return
    if (isOfMachine(error)) throw error
    const fault = error instanceof Error ? error.message : 'the file cannot be read'
    yield { records: [{ place: 'the rest of the file', fault, text: '' }], bytesRead, counted: format.name }
  }
}

async function* chunksUntil(signal: AbortSignal, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal.throwIfAborted()
    yield chunk
  }
}

function localClock(timeZone: string | undefined): ReadOptions['localInstant'] {
  if (timeZone === undefined)
    return () => {
      throw new UsageProblem('its times have no zone: give one with --time-zone Area/City')
    }
  const offsetAtWall = createWallClock(timeZone)
  return (wallMs) => {
    const offsetMs = offsetAtWall(wallMs)
    return { atMs: wallMs - offsetMs, offsetMinutes: offsetMs / MINUTE }
  }
}

/** Files of one kind that are not read, with the first of them. */
type UnreadFiles = {
  readonly reason: string
  /** Left out on purpose. Other files may hold measurements that are missing here. */
  readonly isLeftOut: boolean
  readonly files: number
  readonly file: string
  /** The columns that the files name, or the fields of their first objects. */
  readonly columns: readonly string[]
}

/** By the name of a file: the reason why no export has measurements in it. */
const withoutMeasurements: ReadonlyArray<readonly [name: RegExp, reason: string]> = [
  [/(^|\/)(__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i, 'a file of the operating system'],
  [/\.(txt|md|html?|pdf|png|jpe?g|gif|heic|webp|svg|mp4)$|(^|\/)[^/]*README[^/]*$/i, 'a text or a picture'],
  [/\.(gpx|kml|kmz)$/i, 'a route'],
]

const KINDS_MAX = 200
const COLUMNS_MAX = 40
const COLUMN_LENGTH_MAX = 60

/** Counts the files that no format reads, those of one reason and one set of columns together. */
function createUnreadFiles(formats: readonly HealthFormat[]) {
  const kinds = new Map<string, UnreadFiles>()
  const leftOut = [
    ...formats.flatMap(({ mapping }) =>
      mapping.flatMap(({ files, note }) => (files && note !== undefined ? [[files, note] as const] : [])),
    ),
    ...withoutMeasurements,
  ]
  return {
    add({ name, sizeBytes }: ExportFile, head: FileHead): void {
      const reason = sizeBytes === 0 ? 'an empty file' : leftOut.find(([names]) => names.test(name))?.[1]
      const fault = head.bytes.length === 0 ? 'it cannot be read' : 'no known format'
      const named = reason === undefined ? namedColumns(head) : []
      const namedKey = JSON.stringify([reason ?? fault, ...named])
      const isListed = kinds.has(namedKey) || kinds.size < KINDS_MAX
      const [key, columns] = isListed ? [namedKey, named] : [JSON.stringify([reason ?? fault]), []]
      const found = { reason: reason ?? fault, isLeftOut: reason !== undefined, columns }
      const known = kinds.get(key) ?? { ...found, files: 0, file: printableLine(name) }
      kinds.set(key, { ...known, files: known.files + 1 })
    },
    list: (): readonly UnreadFiles[] => [...kinds.values()],
  }
}

/** The columns of a table, or the fields at the beginning of JSON. A first line with numbers in it names no columns. */
function namedColumns(head: FileHead): readonly string[] {
  const named = /\.(csv|tsv)$/i.test(head.name)
    ? [...columnsIn(head)]
    : /\.json$/i.test(head.name)
      ? [...new Set(head.text.matchAll(/"([^"\\]+)"\s*:/g).map(([, field = '']) => field))]
      : []
  const isData = named.some((name) => /^[\d\s.,:+-]+$/.test(name))
  return isData ? [] : named.slice(0, COLUMNS_MAX).map((name) => printableLine(name.slice(0, COLUMN_LENGTH_MAX)))
}
