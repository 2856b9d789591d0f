import type { Accepted, OutboxItem } from '../warehouse/outbox.ts'
import { type ItemOptions, type ReadItem, toItem } from './items.ts'
import type { Entry } from './records.ts'

export type Counts = { read: number; accepted: number; duplicate: number; rejected: number }

export type Reject = { readonly line: number; readonly reason: string; readonly text: string }

/** Up to where everything is in the outbox or among the rejects. */
export type Progress = Counts & { position: number; line: number }

export type Intake = {
  readonly entries: AsyncIterable<Entry>
  readonly options: ItemOptions
  readonly begin: Progress
  /** Our own ids by externalId; of the others, why they may not come in. */
  resolve(externalIds: readonly string[]): Promise<Map<string, { profileId: string } | { fault: string }>>
  add(items: readonly OutboxItem[]): Promise<Accepted>
  reject(rejects: readonly Reject[]): Promise<void>
  /** Called after each batch, when all of it is safe. */
  progressed(progress: Progress): Promise<void>
  readonly signal: AbortSignal
}

const ITEMS_PER_BATCH = 2000
const BYTES_PER_BATCH = 4 * 1024 * 1024

type Read = { readonly line: number; readonly text: () => string } & (ReadItem | { readonly fault: string })

/**
 * Takes a file into the outbox, batch by batch; holds one batch, however long the file. Safe to run again from any
 * progress it reported: what came in twice counts as duplicate. Stopped, it ends after the batch under way.
 */
export async function takeIn(intake: Intake): Promise<Progress> {
  let progress = intake.begin
  let batch: Read[] = []
  let bytes = 0
  let last: Entry | undefined
  const flush = async () => {
    if (!last) return
    progress = { ...(await store(batch, intake, progress)), position: last.end, line: last.line }
    await intake.progressed(progress)
    batch = []
    bytes = 0
  }
  for await (const entry of intake.entries) {
    if (intake.signal.aborted) break
    const read = readEntry(entry, intake.options)
    batch.push(read)
    bytes += 'item' in read ? (read.item.body.length ?? 0) : 0
    last = entry
    if (batch.length >= ITEMS_PER_BATCH || bytes >= BYTES_PER_BATCH) await flush()
  }
  if (batch.length > 0) await flush()
  return progress
}

function readEntry(entry: Entry, options: ItemOptions): Read {
  const { line } = entry
  if ('fault' in entry) return { line, fault: entry.fault, text: () => entry.text }
  return { line, text: () => JSON.stringify(entry.fields), ...toItem(entry.fields, options) }
}

async function store(batch: readonly Read[], intake: Intake, before: Progress): Promise<Progress> {
  const names = new Set(batch.flatMap((read) => ('externalId' in read ? [read.externalId] : [])))
  const known = await intake.resolve([...names])
  const rejects: Reject[] = []
  const items: OutboxItem[] = []
  for (const read of batch) {
    const whose = 'externalId' in read ? known.get(read.externalId) : read
    if ('item' in read && whose && 'profileId' in whose) items.push({ profileId: whose.profileId, ...read.item })
    else {
      const reason = whose && 'fault' in whose ? whose.fault : 'externalId: is not known here'
      rejects.push({ line: read.line, reason, text: read.text() })
    }
  }
  const { accepted, duplicate } = await intake.add(items)
  if (rejects.length > 0) await intake.reject(rejects)
  return {
    ...before,
    read: before.read + batch.length,
    accepted: before.accepted + accepted,
    duplicate: before.duplicate + duplicate,
    rejected: before.rejected + rejects.length,
  }
}
