import type { Rejected } from '../errors.ts'
import type { Item } from './client.ts'

export const ITEMS_PER_BATCH_MAX = 90
export const BATCH_BYTES_MAX = 150 * 1000

export type Batch = { readonly from: number; readonly to: number }

/** The text of one item as it is sent. */
export function textOf(item: Item): string {
  return typeof item === 'string' ? item : JSON.stringify(item)
}

/**
 * Cuts items, in their order, into spans [from, to) that fit one request each. An item that is too large on its own
 * becomes a batch of its own: upstream's refusal of it is the honest answer.
 */
export function cutBatches(items: readonly Item[]): Batch[] {
  const batches: Batch[] = []
  let from = 0
  let bytes = 2
  for (const [index, item] of items.entries()) {
    const itemBytes = Buffer.byteLength(textOf(item)) + 1
    const full = index - from >= ITEMS_PER_BATCH_MAX || bytes + itemBytes > BATCH_BYTES_MAX
    if (index > from && full) {
      batches.push({ from, to: index })
      from = index
      bytes = 2
    }
    bytes += itemBytes
  }
  if (from < items.length) batches.push({ from, to: items.length })
  return batches
}

/**
 * Which items of a refused batch upstream named, with its scrubbed words. Empty when it named none: then nobody knows
 * which item is bad, and the batch must be halved to find out.
 */
export function faultsByIndex(rejected: Rejected): Map<number, string[]> {
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
