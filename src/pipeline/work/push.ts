import type { Operation } from '../../base/contract/operations.ts'
import { Rejected } from '../../base/errors.ts'
import { patchBetween } from '../transfer/merge-patch.ts'
import { addCounts, type JobCounts, noCounts } from '../transfer/order.ts'
import { batchesOf, batchOfItems, type Parcel, type ParcelItem, type UploadBatch } from '../transfer/parcel.ts'
import type { PlannedProfile } from '../transfer/planned-profile.ts'
import type { PushedList, PushedSnapshot } from '../transfer/stream.ts'
import { itemFaultsByIndex } from '../upstream/push-items.ts'
import type { JobContext } from './job.ts'

type PushContext = Pick<JobContext, 'upstream' | 'outbox' | 'signal' | 'lane' | 'runId'>
type Pushed = { readonly profile: PlannedProfile; readonly context: PushContext }
type ListPush = Pushed & { readonly stream: PushedList }
type SnapshotPush = Pushed & { readonly stream: PushedSnapshot }

/**
 * Sends the waiting parcels of one profile, oldest endDateTime first. Parcels are marked sent only after upstream accepted them,
 * so a worker that dies in between sends them again; their items' stable ids make that harmless. Items that upstream
 * rejects go to quarantine with its reason; the good items beside them are sent.
 */
export async function pushWaiting(profile: PlannedProfile, context: PushContext): Promise<JobCounts> {
  let counts = noCounts
  for (const stream of profile.waiting) {
    for (;;) {
      const { parcels, more } = await context.outbox.readWaiting(profile.profileId, stream.name)
      const pushed =
        stream.kind === 'list'
          ? await pushLists({ profile, stream, context }, parcels)
          : await pushSnapshots({ profile, stream, context }, parcels)
      counts = addCounts(counts, pushed)
      if (!more) break
    }
  }
  return counts
}

/** Marks the parcels of several requests as sent together. A worker that dies before it repeats these requests. */
async function pushLists(push: ListPush, parcels: readonly Parcel[]): Promise<JobCounts> {
  const { profile, stream, context } = push
  let counts = noCounts
  const sent: Parcel[] = []
  try {
    for (const batch of batchesOf(parcels)) {
      const pushed = await pushBatch(push, batch)
      counts = addCounts(counts, pushed.counts)
      sent.push(...batch.parcels.filter(({ id }) => pushed.acceptedIds.includes(id)))
    }
  } finally {
    const pushed = { profileId: profile.profileId, stream: stream.name, parcels: sent }
    if (sent.length > 0) await context.outbox.markSent(pushed, context.runId)
  }
  return counts
}

/** `acceptedIds`: the parcels from which upstream accepted an item. */
type BatchResult = { readonly counts: JobCounts; readonly acceptedIds: readonly string[] }

const sumOf = (a: BatchResult, b: BatchResult): BatchResult => ({
  counts: addCounts(a.counts, b.counts),
  acceptedIds: [...a.acceptedIds, ...b.acceptedIds],
})

async function pushBatch(push: ListPush, batch: UploadBatch): Promise<BatchResult> {
  const { profile, stream, context } = push
  const { upstream, lane, signal } = context
  try {
    await upstream.pushItems(profile, { stream, items: batch }, { lane, signal })
  } catch (error) {
    if (!rejectsItems(error)) throw error
    const rejected = { counts: { ...noCounts, requests: 1 }, acceptedIds: [] }
    return sumOf(rejected, await pushWithoutRejected(push, batch, error))
  }
  const counts = { ...noCounts, requests: 1, itemsPushed: batch.count }
  return { counts, acceptedIds: batch.parcels.map(({ id }) => id) }
}

/** A rejection of what was sent. Other rejections, of the route or of our rights, say nothing about the items. */
const rejectsItems = (error: unknown): error is Rejected =>
  error instanceof Rejected && (error.status === 400 || error.status === 413 || error.status === 422)

/**
 * Upstream accepts a whole batch or nothing. The items that it names are quarantined and the others sent again; where it
 * names none, the batch is bisected.
 */
async function pushWithoutRejected(push: ListPush, batch: UploadBatch, error: Rejected): Promise<BatchResult> {
  const items = batch.items()
  const faults = items.length === 1 ? new Map([[0, reasonsOf(error)]]) : itemFaultsByIndex(error)
  const refused = items.flatMap((item, index) => {
    const reasons = faults.get(index)
    return reasons ? [{ ...item, path: `[${index}]`, reason: reasons.join('; ') }] : []
  })
  if (refused.length === 0) {
    const middle = Math.ceil(items.length / 2)
    const first = await pushSome(push, batch, items.slice(0, middle))
    return sumOf(first, await pushSome(push, batch, items.slice(middle)))
  }
  const { profile, stream, context } = push
  const parcels = { profileId: profile.profileId, stream: stream.name, parcels: batch.parcels }
  await context.outbox.quarantineRefused(parcels, refused)
  const quarantined = { counts: { ...noCounts, refused: refused.length }, acceptedIds: [] }
  const others = items.filter((_, index) => !faults.has(index))
  return others.length > 0 ? sumOf(quarantined, await pushSome(push, batch, others)) : quarantined
}

function pushSome(push: ListPush, batch: UploadBatch, items: readonly ParcelItem[]): Promise<BatchResult> {
  const ids = new Set(items.map(({ parcelId }) => parcelId))
  const parcels = batch.parcels.filter(({ id }) => ids.has(id))
  return pushBatch(push, batchOfItems(items, parcels))
}

const reasonsOf = (error: Rejected): string[] => {
  const reasons = error.details.flatMap((detail) => detail.reasons.map((reason) => `${detail.path}: ${reason}`))
  return reasons.length > 0 ? reasons : [error.message]
}

/** A snapshot waits under one key: there is one item, in a parcel of its own. */
async function pushSnapshots(push: SnapshotPush, parcels: readonly Parcel[]): Promise<JobCounts> {
  let counts = noCounts
  for (const parcel of parcels) counts = addCounts(counts, await pushSnapshot(push, parcel))
  return counts
}

async function pushSnapshot(push: SnapshotPush, parcel: Parcel): Promise<JobCounts> {
  const { profile, stream, context } = push
  const { upstream, outbox, lane, signal, runId } = context
  const parcels = { profileId: profile.profileId, stream: stream.name, parcels: [parcel] }
  try {
    const request = await snapshotRequestOf(push, parcel)
    if (request === undefined) {
      await outbox.markKnown(parcels)
      return noCounts
    }
    await upstream.pushSnapshot(profile, { ...request, schema: stream.schema }, { lane, signal })
  } catch (error) {
    if (!rejectsItems(error)) throw error
    const refused = { parcelId: parcel.id, place: 0, body: parcel.body, path: '', reason: reasonsOf(error).join('; ') }
    await outbox.quarantineRefused(parcels, [refused])
    return { ...noCounts, requests: 1, refused: 1 }
  }
  await outbox.markSent(parcels, runId)
  return { ...noCounts, requests: 1, itemsPushed: 1 }
}

/** An update carries only the fields that differ from what upstream last gave. Undefined when none differs. */
async function snapshotRequestOf(
  { profile, stream, context }: SnapshotPush,
  { mode, body }: Parcel,
): Promise<{ operation: Operation; body: object | string } | undefined> {
  if (stream.merge === 'last-wins' || mode === 'put') return { operation: stream.replace, body }
  const known = await context.outbox.lastSnapshot(profile.profileId, stream.name)
  const changes = patchBetween(JSON.parse(body), known ?? {})
  return changes && { operation: stream.patch, body: changes }
}
