import type { Rejected } from '../../base/errors.ts'

/** One item to send: an object, or its JSON text, which is sent byte for byte. */
export type PushItem = object | string

/** Items one by one; or the JSON texts of `count` items, joined by commas, which are sent as they are. */
export type PushItems = readonly PushItem[] | { readonly joined: string; readonly count: number }

/** The text of one item as it is sent. */
export function itemTextOf(item: PushItem): string {
  return typeof item === 'string' ? item : JSON.stringify(item)
}

/**
 * The faults of a refused batch by the index of the item, in upstream's scrubbed words. Empty when upstream named no item:
 * then the batch must be halved to find the bad item.
 */
export function itemFaultsByIndex(rejected: Rejected): Map<number, string[]> {
  const faults = new Map<number, string[]>()
  for (const { path, reasons } of rejected.details) {
    const index = /^\$?\.?\[?(\d{1,4})\]?(?:\.|$|\[)/.exec(path)?.[1]
    if (index === undefined) continue
    const field = path.replace(/^\$?\.?\[?\d+\]?\.?/, '')
    const known = faults.get(Number(index)) ?? []
    known.push(...reasons.map((reason) => (field === '' ? reason : `${field}: ${reason}`)))
    faults.set(Number(index), known)
  }
  return faults
}
