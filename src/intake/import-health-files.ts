import { extname } from 'node:path'
import { UsageProblem } from '../base/errors.ts'
import { MINUTE } from '../base/time/units.ts'
import type { AcceptedCounts, OutboxItem } from '../pipeline/transfer/parcel.ts'
import { createWallClock } from './complete-offsets.ts'
import { isZip } from './export-files.ts'
import { createFileTally, type FileReport, type FileTally } from './file-report.ts'
import type {
  ExportFile,
  FileHead,
  HealthFormat,
  HealthRecord,
  LogDraft,
  ReadOptions,
  RecordBatch,
} from './formats/export-format.ts'
import { createHealthItems, type HealthItemOptions } from './health-items.ts'
import { isOfMachine } from './input-file.ts'
import { createThinnedHeartRate, type HeartRateDetail } from './thinned-heart-rate.ts'
import { asUtf8 } from './utf8-text.ts'

type HealthReject = {
  readonly file: string
  readonly place: string
  readonly reason: string
  readonly text: string
}

/** `items`: how many items, counted from the first file on, are in the outbox. */
export type HealthProgress = AcceptedCounts & { readonly items: number }

type HealthIntake = {
  readonly files: readonly ExportFile[]
  readonly formats: readonly HealthFormat[]
  readonly itemOptions: Omit<HealthItemOptions, 'vendor'>
  readonly heartRate: HeartRateDetail
  /** Where an earlier import of the same files stopped: items up to there are counted, and not stored again. */
  readonly begin: HealthProgress
  store(items: ReadonlyArray<Omit<OutboxItem, 'profileId'>>): Promise<AcceptedCounts>
  reject(rejects: readonly HealthReject[]): Promise<void>
  /** Called after each batch of items, when the batch is stored. */
  stored(progress: HealthProgress): Promise<void>
  /** Called often, with the bytes that were read so far. */
  readBytes(file: string, bytes: number): void
  readonly signal: AbortSignal
}

type HealthResult = {
  readonly reports: readonly FileReport[]
  /** Files of no known format, by their endings. */
  readonly unknown: ReadonlyMap<string, number>
  readonly progress: HealthProgress
}

const ITEMS_PER_BATCH = 2000
const HEAD_BYTES = 4096

/**
 * Reads the files of an export one after the other, and stores their logs as items, batch by batch. The files are
 * read in the same order each time, so an import that was stopped goes on after the items that it stored. When `signal`
 * is aborted it stores the batch that it has, and ends.
 */
export async function importHealthFiles(intake: HealthIntake): Promise<HealthResult> {
  const reports: FileReport[] = []
  const unknown = new Map<string, number>()
  const outbox = createNumberedOutbox(intake)
  let bytesBefore = 0
  for (const file of intake.files.map(asUtf8)) {
    if (intake.signal.aborted) break
    const head = await readHead(file)
    const format = isZip(head.bytes) ? undefined : intake.formats.find((one) => one.detects(head))
    if (format) reports.push(await importFile(intake, { file, head, format, outbox, bytesBefore }))
    else countEnding(unknown, file)
    bytesBefore += file.sizeBytes
  }
  return { reports, unknown, progress: outbox.progress() }
}

const ENDINGS_MAX = 100

function countEnding(unknown: Map<string, number>, { name }: ExportFile): void {
  const ending = extname(name).slice(0, 20) || 'none'
  const key = unknown.has(ending) || unknown.size < ENDINGS_MAX ? ending : 'others'
  unknown.set(key, (unknown.get(key) ?? 0) + 1)
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

/**
 * Stores items in batches, and skips the first ones where an earlier import stored them. Duplicate
 * keys in one file: the most recently modified item counts, else the first, so that importing the file again changes nothing. A later
 * file replaces items of an earlier file.
 */
function createNumberedOutbox({ begin, store, stored }: HealthIntake) {
  let named = createRecentNames()
  let number = 0
  let copies = 0
  let progress = begin
  let batch = new Map<string, NamedItem>()
  return {
    progress: () => progress,
    beginFile() {
      named = createRecentNames()
    },
    isFull: () => batch.size >= ITEMS_PER_BATCH,
    put({ item, modifiedMs }: NamedItem, { counts }: FileTally) {
      number += 1
      counts.logs += 1
      const isFirst = named.isNewest(item.itemKey, modifiedMs)
      if (number <= begin.items) counts.before += 1
      else {
        if (!isFirst || batch.has(item.itemKey)) {
          counts.duplicate += 1
          copies += 1
        }
        if (isFirst) batch.set(item.itemKey, { item, modifiedMs })
      }
    },
    async flush({ counts }: FileTally) {
      if (batch.size === 0 && copies === 0) return
      const { accepted, duplicate } =
        batch.size === 0 ? nothing : await store([...batch.values()].map(({ item }) => item))
      counts.accepted += accepted
      counts.duplicate += duplicate
      batch = new Map()
      progress = {
        items: number,
        accepted: progress.accepted + accepted,
        duplicate: progress.duplicate + duplicate + copies,
      }
      copies = 0
      await stored(progress)
    },
  }
}

type NamedItem = { readonly item: Omit<OutboxItem, 'profileId'>; readonly modifiedMs: number | undefined }

const nothing: AcceptedCounts = { accepted: 0, duplicate: 0 }

const RECENT_NAMES_MAX = 20_000

/** The names of the last items, and when their source changed them last: copies of a record are near it. */
function createRecentNames() {
  const changedMs = new Map<string, number>()
  return {
    isNewest(name: string, modifiedMs = Number.NEGATIVE_INFINITY): boolean {
      const known = changedMs.get(name)
      if (known !== undefined && modifiedMs <= known) return false
      changedMs.set(name, modifiedMs)
      if (changedMs.size > RECENT_NAMES_MAX) for (const oldest of changedMs.keys()) return changedMs.delete(oldest)
      return true
    },
  }
}

type FileImport = {
  readonly file: ExportFile
  readonly head: FileHead
  readonly format: HealthFormat
  readonly outbox: ReturnType<typeof createNumberedOutbox>
  readonly bytesBefore: number
}

async function importFile(intake: HealthIntake, opened: FileImport) {
  const { file, outbox, format, bytesBefore } = opened
  const tally = createFileTally(file.name, format.name)
  outbox.beginFile()
  const intoOutbox = createRecordReader(intake, opened, tally)
  for await (const { records, bytesRead } of readWhole(opened, intake)) {
    for (const record of records) {
      intoOutbox.take(record)
      if (outbox.isFull()) await outbox.flush(tally)
    }
    const rejects = intoOutbox.takeRejects()
    if (rejects.length > 0) await intake.reject(rejects)
    intake.readBytes(file.name, bytesBefore + bytesRead)
    if (intake.signal.aborted) break
  }
  for (const draft of intake.signal.aborted ? [] : intoOutbox.heldBack()) {
    intoOutbox.put(draft)
    if (outbox.isFull()) await outbox.flush(tally)
  }
  await outbox.flush(tally)
  return tally.report()
}

/** Takes the records of one file one after the other, and counts what becomes of each. */
function createRecordReader(intake: HealthIntake, { file, format, outbox }: FileImport, tally: FileTally) {
  const items = createHealthItems({ ...intake.itemOptions, vendor: format.vendor })
  const thinned = createThinnedHeartRate(intake.heartRate)
  let rejects: HealthReject[] = []
  const put = (draft: LogDraft) => {
    const { item, localDay } = items.itemOf(draft)
    tally.day(localDay)
    outbox.put({ item, modifiedMs: draft.modifiedMs }, tally)
  }
  const reject = (record: HealthRecord, reason: string) => {
    const text = 'fault' in record ? record.text : JSON.stringify(record)
    rejects.push({ file: file.name, place: record.place, reason, text })
    tally.reject(reason)
  }
  return {
    put,
    heldBack: thinned.end,
    take(record: HealthRecord) {
      tally.counts.read += 1
      const outcome = 'draft' in record ? (items.refusalOf(record.draft) ?? record) : record
      if ('leftOut' in outcome) return tally.leaveOut(outcome.leftOut)
      if ('fault' in outcome) return reject(record, outcome.fault)
      const drafts = thinned.put(outcome.draft)
      if (drafts === false) return tally.leaveOut('came after its minute was averaged')
      tally.counts.mapped += 1
      tally.device(outcome.draft)
      for (const draft of drafts) put(draft)
    },
    takeRejects() {
      const taken = rejects
      rejects = []
      return taken
    },
  }
}

/**
 * A file that breaks in the middle costs only its rest: the break is a record that could not be read. When `signal` is aborted
 * the file ends at the next chunk, also where a reader takes it as a whole.
 */
async function* readWhole(
  { file, format, head }: FileImport,
  { itemOptions: { timeZone }, signal }: HealthIntake,
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
    yield { records: [{ place: 'the rest of the file', fault, text: '' }], bytesRead }
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
