import { intersect, subtract, union } from '../../src/base/time/spans.ts'
import {
  type AcceptedCounts,
  cutBatches,
  type OutboxItem,
  type Parcel,
  type PushedParcels,
  type RefusedItem,
} from '../../src/pipeline/transfer/parcel.ts'
import type { PulledStream } from '../../src/pipeline/transfer/stream.ts'
import type { WaitingParcels } from '../../src/pipeline/warehouse/outbox/stored-parcels.ts'
import type { ModelProfile } from './model-state.ts'
import type { Situations } from './situations.ts'

type Now = { readonly nowMs: number; readonly firstReadingMs: number; readonly pulled: readonly PulledStream[] }

type Adding = { readonly nowMs: number; readonly drawId: () => string; readonly saw: Situations['saw'] }

/** Adds items. `drawId` gives the ids of parcels. Items of one profile come in one call. */
export function addItemsInModel(
  here: ModelProfile | undefined,
  items: readonly OutboxItem[],
  { nowMs, drawId, saw }: Adding,
): AcceptedCounts {
  const latest = here ? [...new Map(items.map((item) => [item.itemKey, item])).values()] : []
  const added = latest.filter(({ itemKey, body }) => here?.items.get(itemKey)?.body !== body)
  if (added.length < items.length) saw('a log handed in twice')
  if (!here || added.length === 0) return { accepted: 0, duplicate: items.length }
  for (const { itemKey } of added) {
    const former = here.items.get(itemKey)
    if (!former) continue
    if (here.parcels.has(former.parcelId)) saw('a log replaced while it waits')
    takeOut(here, former.parcelId, former.place)
  }
  const sorted = added.toSorted((a, b) => a.endAtMs - b.endAtMs)
  for (const { from, to } of cutBatches(sorted.map(({ body }) => Buffer.byteLength(body))))
    pack(here, sorted.slice(from, to), { id: drawId(), nowMs })
  here.dueMs = Math.min(here.dueMs, nowMs)
  return { accepted: added.length, duplicate: items.length - added.length }
}

function pack(here: ModelProfile, items: readonly OutboxItem[], { id, nowMs }: { id: string; nowMs: number }): void {
  const sizes = items.map(({ body }) => Buffer.byteLength(body))
  const body = items.map((item) => item.body).join(',')
  here.parcels.set(id, {
    ...{ id, body, bytes: Buffer.byteLength(body), sizes: sizes.join(','), takenOut: [], waiting: items.length },
    mode: 'patch',
    startAtMs: Math.min(...items.map(({ startAtMs }) => startAtMs)),
    endAtMs: Math.max(...items.map(({ endAtMs }) => endAtMs)),
    firstEndAtMs: Math.min(...items.map(({ endAtMs }) => endAtMs)),
    addedMs: nowMs,
  })
  for (const [place, item] of items.entries()) here.items.set(item.itemKey, { body: item.body, parcelId: id, place })
}

function takeOut(here: ModelProfile, parcelId: string, place: number): void {
  const parcel = here.parcels.get(parcelId)
  if (!parcel || parcel.takenOut.includes(place)) return
  const takenOut = [...parcel.takenOut, place].toSorted((a, b) => a - b)
  here.parcels.set(parcelId, { ...parcel, takenOut, waiting: parcel.waiting - 1 })
  if (parcel.waiting === 1) here.parcels.delete(parcelId)
}

/** Oldest first. */
export function waitingInModel(here: ModelProfile | undefined): WaitingParcels {
  const all = [...(here?.parcels.values() ?? [])]
  return {
    parcels: all.toSorted((a, b) => a.firstEndAtMs - b.firstEndAtMs || Number(a.id) - Number(b.id)),
    more: false,
  }
}

/** Returns how many items waited in the parcels that this call deletes. */
export function markSentInModel(here: ModelProfile | undefined, push: PushedParcels, now: Now): number {
  if (!here) return 0
  let items = 0
  for (const { id } of push.parcels) {
    items += here.parcels.get(id)?.waiting ?? 0
    here.parcels.delete(id)
  }
  touch(here, push, now)
  const row = here.ledger.get(push.stream)
  const endMs = Math.max(...push.parcels.map(({ endAtMs }) => endAtMs))
  if (row) row.pushedToMs = Math.max(row.pushedToMs ?? endMs, endMs)
  return items
}

/** Makes due again under a new generation what upstream derives from the push. */
function touch(here: ModelProfile, { stream, parcels }: PushedParcels, { nowMs, firstReadingMs, pulled }: Now): void {
  for (const { name, touchedBy } of pulled) {
    const reach = touchedBy[stream]
    const row = here.ledger.get(name)
    if (reach === undefined || reach === 'everything' || !row) continue
    const spans = union(
      parcels.map(({ startAtMs, endAtMs }) => ({
        startMs: startAtMs - reach.beforeMs,
        endMs: endAtMs + reach.afterMs,
      })),
    )
    row.generation += 1
    row.covered = subtract(row.covered, spans)
    row.unread = union([...row.unread, ...intersect(spans, [{ startMs: Number.NEGATIVE_INFINITY, endMs: nowMs }])])
    row.touchedAtMs = nowMs
    row.readAgainAtMs = nowMs + firstReadingMs
  }
}

/** Moves items that still wait where upstream saw them to the quarantine. */
export function quarantineInModel(
  here: ModelProfile | undefined,
  push: PushedParcels,
  items: readonly RefusedItem[],
): void {
  if (!here) return
  const waits = ({ parcelId, place }: RefusedItem) => {
    const parcel: Parcel | undefined = here.parcels.get(parcelId)
    return parcel !== undefined && !parcel.takenOut.includes(place)
  }
  const refused = items.filter(waits)
  for (const { body, path, reason } of new Map(refused.map((item) => [item.body, item])).values()) {
    const id = `push ${push.stream} ${body}`
    const former = here.quarantine.get(id)
    const times = (former?.times ?? 0) + 1
    here.quarantine.set(id, {
      ...{ stream: push.stream, direction: 'push', body, reason, times },
      path: former?.path ?? path,
    })
  }
  for (const { parcelId, place } of refused) takeOut(here, parcelId, place)
}
