import type { LogEvidence } from '../../base/contract/log-evidence.ts'

/** Limits of one request to upstream. */
export const ITEMS_PER_BATCH_MAX = 90
export const BATCH_BYTES_MAX = 150 * 1000

/** Bytes of a JSON list around its items, and of the comma after an item. */
const JSON_LIST_BYTES = 2
const COMMA_BYTES = 1

/** An item to be pushed. `itemKey` is its stable name: the log's id, a tag's identity, or one word for a snapshot. */
export type OutboxItem = {
  readonly profileId: string
  readonly stream: string
  readonly itemKey: string
  readonly body: string
  readonly mode?: 'patch' | 'put'
  readonly startAtMs: number
  readonly endAtMs: number
  /** When the item's source changed it last. */
  readonly modifiedMs?: number | undefined
  /** The evidence of a data log about the days that it touches. */
  readonly evidence?: LogEvidence | undefined
}

export type AcceptedCounts = { readonly accepted: number; readonly duplicate: number }

/**
 * Items of one profile and stream that wait together. Their JSON texts are joined by commas in one text, so that the body
 * of a request is made without parsing it. An item that was replaced, refused or sent later is taken out by its place.
 */
export type Parcel = {
  readonly id: string
  readonly body: string
  readonly bytes: number
  /** Bytes of each item, in order, separated by commas. Read only when the parcel is split into its items. */
  readonly sizes: string
  /** Places of the items that do not wait any more. */
  readonly takenOut: readonly number[]
  /** Count of the items that still wait. */
  readonly waiting: number
  readonly mode: 'patch' | 'put'
  readonly startAtMs: number
  readonly endAtMs: number
}

/** One item of a parcel. `place` is its index in the parcel. */
export type ParcelItem = { readonly parcelId: string; readonly place: number; readonly body: string }

/** Parcels of one profile and stream that one request carried. */
export type PushedParcels = {
  readonly profileId: string
  readonly stream: string
  readonly parcels: readonly Parcel[]
}

/** An item that upstream refused: `path` within the request, and upstream's reason. */
export type RefusedItem = ParcelItem & { readonly path: string; readonly reason: string }

/** The content of one request. `items` splits it into its items, in the order in which upstream counts them. */
export type UploadBatch = {
  readonly joined: string
  readonly count: number
  readonly parcels: readonly Parcel[]
  readonly items: () => readonly ParcelItem[]
}

/** Indexes of items, [from, to). */
type ItemRange = { readonly from: number; readonly to: number }

/**
 * Cuts items, by their sizes in bytes and in their order, into ranges that fit one request each. An item that is too large
 * for any request becomes a batch of its own: upstream's refusal of it then reaches the user.
 */
export const cutBatches = (sizes: readonly number[]): ItemRange[] =>
  fillBatches(sizes.map((bytes) => ({ count: 1, bytes })))

/** Joins parcels, in their order, as many as one request takes: small parcels would cost a request each. */
export const batchesOf = (parcels: readonly Parcel[]): UploadBatch[] =>
  fillBatches(parcels.map(({ waiting, bytes }) => ({ count: waiting, bytes }))).map(({ from, to }) =>
    batchOfParcels(parcels.slice(from, to)),
  )

/** Fills each batch as far as the limits allow before it begins the next. */
function fillBatches(parts: ReadonlyArray<{ readonly count: number; readonly bytes: number }>): ItemRange[] {
  const batches: ItemRange[] = []
  let from = 0
  let filledCount = 0
  let filledBytes = JSON_LIST_BYTES
  for (const [index, { count, bytes }] of parts.entries()) {
    const isFull = filledCount + count > ITEMS_PER_BATCH_MAX || filledBytes + bytes + COMMA_BYTES > BATCH_BYTES_MAX
    if (isFull && index > from) {
      batches.push({ from, to: index })
      from = index
      filledCount = 0
      filledBytes = JSON_LIST_BYTES
    }
    filledCount += count
    filledBytes += bytes + COMMA_BYTES
  }
  if (from < parts.length) batches.push({ from, to: parts.length })
  return batches
}

const batchOfParcels = (parcels: readonly Parcel[]): UploadBatch => ({
  joined: parcels.map(joinedItems).join(','),
  count: parcels.reduce((sum, { waiting }) => sum + waiting, 0),
  parcels,
  items: () => parcels.flatMap(itemsOf),
})

/** A batch of single items of these parcels. */
export const batchOfItems = (items: readonly ParcelItem[], parcels: readonly Parcel[]): UploadBatch => ({
  joined: items.map(({ body }) => body).join(','),
  count: items.length,
  parcels,
  items: () => items,
})

/** The items of a parcel that still wait, in their order. */
export function itemsOf(parcel: Parcel): ParcelItem[] {
  const bytes = Buffer.from(parcel.body)
  const items: ParcelItem[] = []
  let offset = 0
  for (const [place, size] of parcel.sizes.split(',').entries()) {
    const end = offset + Number(size)
    if (!parcel.takenOut.includes(place)) {
      items.push({ parcelId: parcel.id, place, body: bytes.toString('utf8', offset, end) })
    }
    offset = end + COMMA_BYTES
  }
  return items
}

const joinedItems = (parcel: Parcel): string =>
  parcel.takenOut.length === 0
    ? parcel.body
    : itemsOf(parcel)
        .map(({ body }) => body)
        .join(',')
