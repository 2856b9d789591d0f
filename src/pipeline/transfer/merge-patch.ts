import { isDeepStrictEqual } from 'node:util'
import type { Fields } from './stream.ts'

/**
 * The partial update (JSON merge patch) that turns `known` into `wanted`: the fields that differ. Null clears a field, so
 * null for a field that `known` lacks is no change. Undefined when nothing differs.
 */
export function patchBetween(wanted: Fields, known: Fields): Fields | undefined {
  const changes = Object.entries(wanted).filter(([key, value]) => !isSame(value ?? null, known[key] ?? null))
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}

/** A number may be written as text: "35" is 35. */
function isSame(a: unknown, b: unknown): boolean {
  const plain = typeof a !== 'object' && typeof b !== 'object'
  return plain ? String(a) === String(b) : isDeepStrictEqual(a, b)
}

/** A partial update, or a replacement of the whole object (`put`), as JSON text. */
export type SnapshotUpdate = { readonly body: string; readonly mode?: 'patch' | 'put' }

/**
 * Merges two updates when the second comes before the first was sent: the later update wins, field by field. A
 * replacement discards the updates before it, and remains a replacement when an update is added to it.
 */
export function composeUpdates(earlier: SnapshotUpdate | undefined, later: SnapshotUpdate): SnapshotUpdate {
  if (earlier === undefined || later.mode === 'put') return { body: later.body, mode: later.mode ?? 'patch' }
  const fields = { ...JSON.parse(earlier.body), ...JSON.parse(later.body) }
  return { body: JSON.stringify(fields), mode: earlier.mode ?? 'patch' }
}
