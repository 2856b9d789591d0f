import type { z } from 'zod'
import type { Span } from '../../base/time/spans.ts'

/** By kind of record, the unit that is known for it. An empty unit: the kind has none, or any. */
export type KindRule = {
  /** The path of the objects that the rule speaks of, such as `factors[]`; empty: the record itself. */
  readonly path: string
  /** The field that names the kind. */
  readonly field: string
  readonly units: Readonly<Record<string, string>>
}

/** The records of a stream as they are known: by the specification, or by the schema of a stream of the user's own. */
export type KnownRecords = {
  readonly schema: z.ZodType
  /** Without rules, words of the records may describe a person, and none is shown. */
  readonly kinds?: readonly KindRule[]
}

/** `stopped`, `order`, `duplicates` and `pages` speak of an answer as a whole, `error` of the body of a refusal. */
export const misfitKinds = [
  'extra',
  'missing',
  'stopped',
  'null',
  'type',
  'word',
  'case',
  'precision',
  'kind',
  'unit',
  'order',
  'duplicates',
  'pages',
  'error',
] as const

/** One way in which records differ from what is known, by path and without a value. `kind`, `unit`, `word` and `case` hold words. */
export type Misfit = {
  readonly what: (typeof misfitKinds)[number]
  readonly path: string
  readonly detail: string
}

/** A misfit in one reading. `localDate`: the day of one of its records. */
export type FoundMisfit = { readonly misfit: Misfit; readonly records: number; readonly localDate: string | undefined }

/** A day with a record whose unit is not the known one. `units`: words, such as `unit weight in lb, not kg`. */
export type DayInOtherUnit = Span & { readonly units: readonly string[] }

/** How a reading differs from what is known of its stream. */
export type ReadingDrift = { readonly misfits: readonly FoundMisfit[]; readonly days: readonly DayInOtherUnit[] }

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/
const looksLikeData = /\d{4}|[0-9a-f]{12}/i

/** The name of a field; one that may be data, as an id or a date, becomes a star. */
export const foldedName = (name: string) => (namePattern.test(name) && !looksLikeData.test(name) ? name : '*')

/** A path of names, whose indexes become one: `factors[].unit`. */
export function foldedPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return text.endsWith('[]') ? text : `${text}[]`
    return joinedPath(text, String(part))
  }, '')
}

export const joinedPath = (path: string, name: string) =>
  path === '' ? foldedName(name) : `${path}.${foldedName(name)}`

/** A word of a closed list; a text that may be a value becomes a star. */
export const foldedWord = (word: string) =>
  /^[A-Za-z%][A-Za-z _/%²0-9-]{0,39}$/.test(word) && !/\d{3}/.test(word) ? word : '*'

export const jsonTypeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value)
