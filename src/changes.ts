import { isDeepStrictEqual } from 'node:util'

type Fields = Readonly<Record<string, unknown>>

/**
 * What a partial update has to say to somebody who holds `known`: the fields that differ. Null clears a field, so it
 * says nothing about one that is not there. Undefined when there is nothing to say.
 */
export function changesOf(wanted: Fields, known: Fields): Fields | undefined {
  const changes = Object.entries(wanted).filter(([key, value]) => !isSame(value ?? null, known[key] ?? null))
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}

/** A number may be written as text: "35" is 35. */
function isSame(a: unknown, b: unknown): boolean {
  const plain = typeof a !== 'object' && typeof b !== 'object'
  return plain ? String(a) === String(b) : isDeepStrictEqual(a, b)
}
