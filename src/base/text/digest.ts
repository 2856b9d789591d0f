import { hash } from 'node:crypto'

/** Eight bytes that show whether a text changed. They decide what is written, never who may do anything. */
export const digestOf = (text: string): Buffer => hash('sha1', text, 'buffer').subarray(0, 8)

/** The same eight bytes as characters of one byte each, as a column of type `digest` takes them: cheaper to keep by thousands. */
export const digestCharactersOf = (text: string): string => hash('sha1', text, 'binary').slice(0, 8)

/** A name of fixed length for a text that is too long for one, or that nobody may read: the first hex digits of its SHA-256. */
export const hexDigestOf = (text: string, digits: number): string => hash('sha256', text).slice(0, digits)
