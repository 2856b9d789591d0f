import type { AcceptedCounts, OutboxItem } from '../pipeline/transfer/parcel.ts'
import type { ImportProgress } from '../pipeline/warehouse/outbox/import-progress.ts'

export type NewItem = Omit<OutboxItem, 'profileId'>

/** All rows before `position` are in the outbox or among the rejected rows. */
export type RowProgress = Omit<ImportProgress, 'tail' | 'rejectsBytes'>

/** A row of a source: an item of the outbox, an item that another row replaces, or the reason why it is none. */
export type ImportRow = {
  /** Up to this row, it included: how far the source was read, and how many lines or records that were. */
  readonly position: number
  readonly line: number
} & (
  | { readonly externalId: string; readonly item: NewItem; readonly shown: () => ShownRow }
  | { readonly fault: string; readonly shown: () => ShownRow }
  | { readonly isReplaced: true }
)

/** The place and the content by which a rejected row is reported. Made only for a rejected row. */
export type ShownRow = ({ readonly line: number } | { readonly file: string; readonly place: string }) & {
  readonly text: string
}

type RejectedRow = ShownRow & { readonly reason: string }

export type ImportTarget = {
  /** The profile's id in the warehouse by externalId; or why its items may not be imported. */
  resolve(externalIds: readonly string[]): Promise<Map<string, { profileId: string } | { fault: string }>>
  add(items: readonly OutboxItem[]): Promise<AcceptedCounts>
  reject(rejects: readonly RejectedRow[]): Promise<void>
  /** Called after each batch, when the batch is stored. */
  progressed(progress: RowProgress): Promise<void>
  readonly signal: AbortSignal
}

const ROWS_PER_BATCH = 2000
const BYTES_PER_BATCH = 4 * 1024 * 1024

/**
 * Imports the rows of a source into the outbox, batch by batch. It holds one batch in memory, however long the source. Safe
 * to run again from any progress that it reported: an item that comes twice counts as a duplicate. When the target's `signal` is
 * aborted it stores the batch that it has read, and ends.
 */
export async function importRows(
  rows: AsyncIterable<readonly ImportRow[]>,
  begin: RowProgress,
  target: ImportTarget,
): Promise<RowProgress> {
  let progress = begin
  let batch: ImportRow[] = []
  let bytes = 0
  const flush = async () => {
    const last = batch.at(-1)
    if (!last) return
    progress = { ...(await storeBatch(batch, progress, target)), position: last.position, line: last.line }
    await target.progressed(progress)
    batch = []
    bytes = 0
  }
  for await (const chunk of rows) {
    if (target.signal.aborted) break
    for (const row of chunk) {
      batch.push(row)
      bytes += 'item' in row ? row.item.body.length : 0
      if (batch.length >= ROWS_PER_BATCH || bytes >= BYTES_PER_BATCH) await flush()
    }
  }
  await flush()
  return progress
}

async function storeBatch(
  batch: readonly ImportRow[],
  former: RowProgress,
  { resolve, add, reject }: ImportTarget,
): Promise<RowProgress> {
  const externalIds = new Set(batch.flatMap((row) => ('externalId' in row ? [row.externalId] : [])))
  const profiles = await resolve([...externalIds])
  const rejects: RejectedRow[] = []
  const items: OutboxItem[] = []
  let replaced = 0
  for (const row of batch) {
    if ('isReplaced' in row) replaced += 1
    else if ('fault' in row) rejects.push({ ...row.shown(), reason: row.fault })
    else {
      const profile = profiles.get(row.externalId) ?? { fault: 'externalId: is not known here' }
      if ('profileId' in profile) items.push({ profileId: profile.profileId, ...row.item })
      else rejects.push({ ...row.shown(), reason: profile.fault })
    }
  }
  const { accepted, duplicate } = items.length > 0 ? await add(items) : { accepted: 0, duplicate: 0 }
  if (rejects.length > 0) await reject(rejects)
  return {
    ...former,
    read: former.read + batch.length,
    accepted: former.accepted + accepted,
    duplicate: former.duplicate + duplicate + replaced,
    rejected: former.rejected + rejects.length,
  }
}
