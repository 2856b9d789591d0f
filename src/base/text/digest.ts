import { hash } from 'node:crypto'

/** Eight bytes that show whether a text changed. They decide what is written, never who may do anything. */
export const digestOf = (text: string): Buffer => hash('sha1', text, 'buffer').subarray(0, 8)

/** The same eight bytes as characters of one byte each, as a column of type `digest` takes them: cheaper to keep by thousands. */
export const digestCharactersOf = (text: string): string => hash('sha1', text, 'binary').slice(0, 8)

/** A name of fixed length for a text that is too long for one, or that nobody may read: the first hex digits of its SHA-256. */
export const hexDigestOf = (text: string, digits: number): string => hash('sha256', text).slice(0, digits)

/** The UUID (version 5) that belongs to these parts within a namespace: the same parts give the same id, always. */
export function namedUuid(namespace: string, parts: readonly string[]): string {
  const named = Buffer.concat([Buffer.from(namespace.replaceAll('-', ''), 'hex'), Buffer.from(JSON.stringify(parts))])
  const hex = hash('sha1', named, 'hex')
  // The version is 5, and the first two bits of the variant are 1 and 0.
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
