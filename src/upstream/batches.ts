import type { Rejected } from '../errors.ts'
import type { Item } from './client.ts'

/** The text of one item as it is sent. */
export function textOf(item: Item): string {
  return typeof item === 'string' ? item : JSON.stringify(item)
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
