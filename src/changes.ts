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

/** A partial update, or a replacement of everything (`put`), as JSON text. */
export type Change = { readonly body: string; readonly mode?: 'patch' | 'put' }

/**
 * What two changes say together when the second comes before the first was sent: the later one wins, field by field. A
 * replacement forgets what was before it, and stays one when something is added to it.
 */
export function together(earlier: Change | undefined, later: Change): Change {
  if (earlier === undefined || later.mode === 'put') return { body: later.body, mode: later.mode ?? 'patch' }
  const fields = { ...JSON.parse(earlier.body), ...JSON.parse(later.body) }
  return { body: JSON.stringify(fields), mode: earlier.mode ?? 'patch' }
}
