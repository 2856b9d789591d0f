import type { AcceptedCounts, OutboxItem } from '../pipeline/transfer/parcel.ts'
import type { FileEntry } from './file-entries.ts'
import { type ItemOptions, type ParsedItem, toItem } from './outbox-items.ts'

type IntakeCounts = { read: number; accepted: number; duplicate: number; rejected: number }

type RejectedLine = { readonly line: number; readonly reason: string; readonly text: string }

/** All entries before `position` are in the outbox or among the rejected lines. */
export type IntakeProgress = IntakeCounts & { position: number; line: number }

export type IntakeOptions = {
  readonly entries: AsyncIterable<FileEntry>
  readonly options: ItemOptions
  readonly begin: IntakeProgress
  /** The profile's id in the warehouse by externalId; or why its items may not be imported. */
  resolve(externalIds: readonly string[]): Promise<Map<string, { profileId: string } | { fault: string }>>
  add(items: readonly OutboxItem[]): Promise<AcceptedCounts>
  reject(rejects: readonly RejectedLine[]): Promise<void>
  /** Called after each batch, when the batch is stored. */
  progressed(progress: IntakeProgress): Promise<void>
  readonly signal: AbortSignal
}

const ITEMS_PER_BATCH = 2000
const BYTES_PER_BATCH = 4 * 1024 * 1024

/** An entry as an outbox item, or why it is none. `text` is called for rejected lines only. */
type ReadLine = { readonly line: number; readonly text: () => string } & (ParsedItem | { readonly fault: string })

/**
 * Imports the entries of a file into the outbox, batch by batch. It holds one batch in memory, however long the file. Safe
 * to run again from any progress that it reported: an item that comes twice counts as a duplicate. When `signal` is aborted
 * it stores the batch that it has read, and ends.
 */
export async function importEntries(intake: IntakeOptions): Promise<IntakeProgress> {
  let progress = intake.begin
  let batch: ReadLine[] = []
  let bytes = 0
  let last: FileEntry | undefined
  const flush = async () => {
    if (!last) return
    progress = { ...(await storeBatch(batch, intake, progress)), position: last.end, line: last.line }
    await intake.progressed(progress)
    batch = []
    bytes = 0
  }
  for await (const entry of intake.entries) {
    if (intake.signal.aborted) break
    const read = readEntry(entry, intake.options)
    batch.push(read)
    bytes += 'item' in read ? read.item.body.length : 0
    last = entry
    if (batch.length >= ITEMS_PER_BATCH || bytes >= BYTES_PER_BATCH) await flush()
  }
  if (batch.length > 0) await flush()
  return progress
}

function readEntry(entry: FileEntry, options: ItemOptions): ReadLine {
  const { line } = entry
  if ('fault' in entry) return { line, fault: entry.fault, text: () => entry.text }
  return { line, text: () => JSON.stringify(entry.fields), ...toItem(entry.fields, options) }
}

async function storeBatch(
  batch: readonly ReadLine[],
  intake: IntakeOptions,
  former: IntakeProgress,
): Promise<IntakeProgress> {
  const names = new Set(batch.flatMap((read) => ('externalId' in read ? [read.externalId] : [])))
  const known = await intake.resolve([...names])
  const rejects: RejectedLine[] = []
  const items: OutboxItem[] = []
  for (const read of batch) {
    const profile = 'externalId' in read ? known.get(read.externalId) : read
    if ('item' in read && profile && 'profileId' in profile) items.push({ profileId: profile.profileId, ...read.item })
    else {
      const reason = profile && 'fault' in profile ? profile.fault : 'externalId: is not known here'
      rejects.push({ line: read.line, reason, text: read.text() })
    }
  }
  const { accepted, duplicate } = await intake.add(items)
  if (rejects.length > 0) await intake.reject(rejects)
  return {
    ...former,
    read: former.read + batch.length,
    accepted: former.accepted + accepted,
    duplicate: former.duplicate + duplicate,
    rejected: former.rejected + rejects.length,
  }
}
