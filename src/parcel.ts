/** What one request to upstream takes at most. */
export const ITEMS_PER_BATCH_MAX = 90
export const BATCH_BYTES_MAX = 150 * 1000

/**
 * Items of one person and stream that wait together: their texts stand in one, joined by commas, so that a request's
 * body is made without looking into it. What was replaced, refused or sent meanwhile is taken out by its place.
 */
export type Parcel = {
  readonly id: string
  readonly body: string
  readonly bytes: number
  /** Bytes of each item, in order, with commas between; read only when the parcel is taken apart. */
  readonly sizes: string
  /** Places of the items that do not wait here any more. */
  readonly takenOut: readonly number[]
  /** How many still wait. */
  readonly waiting: number
  readonly mode: 'patch' | 'put'
  readonly startAtMs: number
  readonly endAtMs: number
}

/** One item of a parcel. */
export type Piece = { readonly parcelId: string; readonly place: number; readonly body: string }

/** What one request carries. `pieces` takes it apart, in the order in which upstream counts. */
export type Load = {
  readonly joined: string
  readonly count: number
  readonly parcels: readonly Parcel[]
  readonly pieces: () => readonly Piece[]
}

export type Span = { readonly from: number; readonly to: number }

/**
 * Cuts items, by their sizes in bytes and in their order, into spans [from, to) that fit one request each. An item that
 * is too large on its own becomes a batch of its own: upstream's refusal of it is the honest answer.
 */
export function cutBatches(sizes: readonly number[]): Span[] {
  const batches: Span[] = []
  let from = 0
  let bytes = 2
  for (const [index, size] of sizes.entries()) {
    const full = index - from >= ITEMS_PER_BATCH_MAX || bytes + size + 1 > BATCH_BYTES_MAX
    if (index > from && full) {
      batches.push({ from, to: index })
      from = index
      bytes = 2
    }
    bytes += size + 1
  }
  if (from < sizes.length) batches.push({ from, to: sizes.length })
  return batches
}

/** Those that still wait, in their order. */
export function piecesOf(parcel: Parcel): Piece[] {
  const bytes = Buffer.from(parcel.body)
  const pieces: Piece[] = []
  let at = 0
  for (const [place, size] of parcel.sizes.split(',').entries()) {
    const end = at + Number(size)
    if (!parcel.takenOut.includes(place)) {
      pieces.push({ parcelId: parcel.id, place, body: bytes.toString('utf8', at, end) })
    }
    at = end + 1
  }
  return pieces
}

/** A load of single items, of whichever parcels. */
export const loadOf = (pieces: readonly Piece[], parcels: readonly Parcel[]): Load => ({
  joined: pieces.map(({ body }) => body).join(','),
  count: pieces.length,
  parcels,
  pieces: () => pieces,
})

/** Parcels put together, in their order, as many as one request takes: small ones would cost a request each. */
export function loadsOf(parcels: readonly Parcel[]): Load[] {
  const loads: Load[] = []
  let together: Parcel[] = []
  let count = 0
  let bytes = 2
  const finish = () => {
    if (together.length > 0) loads.push(loadOfParcels(together))
    together = []
    count = 0
    bytes = 2
  }
  for (const parcel of parcels) {
    if (count + parcel.waiting > ITEMS_PER_BATCH_MAX || bytes + parcel.bytes + 1 > BATCH_BYTES_MAX) finish()
    together.push(parcel)
    count += parcel.waiting
    bytes += parcel.bytes + 1
  }
  finish()
  return loads
}

const loadOfParcels = (parcels: readonly Parcel[]): Load => ({
  joined: parcels.map(waitingText).join(','),
  count: parcels.reduce((sum, { waiting }) => sum + waiting, 0),
  parcels,
  pieces: () => parcels.flatMap(piecesOf),
})

const waitingText = (parcel: Parcel): string =>
  parcel.takenOut.length === 0
    ? parcel.body
    : piecesOf(parcel)
        .map(({ body }) => body)
        .join(',')
