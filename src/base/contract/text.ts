import { z } from 'zod'

/** Whether a database, a log and a JSON document can all hold the text: no NUL, no half of a surrogate pair. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000')
}

/** The part of `isCleanText` that a pattern of a JSON schema can say. */
const cleanTextPattern = { pattern: '^[^\\u0000]*$' }

/** A non-empty string of at most `charactersMax` characters that can be stored. */
export function textSchema(charactersMax: number) {
  return z
    .string({ error: 'must be a text' })
    .min(1, { error: 'must not be empty' })
    .max(charactersMax, { error: `must be at most ${charactersMax} characters` })
    .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
    .meta(cleanTextPattern)
}

/** Free text that may be absent. An empty string says the same as null: nothing is known. */
export function optionalTextSchema(charactersMax: number) {
  return z
    .string()
    .max(charactersMax, { error: `must be at most ${charactersMax} characters` })
    .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
    .meta(cleanTextPattern)
    .transform((text) => (text === '' ? null : text))
    .nullish()
}

/** One word of a closed list in any case; the parsed value has the case of the list. */
export function caseInsensitiveEnumSchema<const Words extends readonly [string, ...string[]]>(words: Words) {
  const known = new Map<string, string>(words.map((word) => [word.toLowerCase(), word]))
  return z
    .string()
    .transform((text) => known.get(text.trim().toLowerCase()) ?? text)
    .pipe(z.enum(words, { error: `must be one of ${words.join(', ')}` }))
    .meta({ examples: [...words] })
}

export const uuidSchema = z.guid({ error: 'must be a UUID' })

const mapEntriesMax = 50

const mapValueSchema = z
  .string()
  .max(2000)
  .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
  .meta(cleanTextPattern)

/** A small map of strings to strings. */
export const stringMapSchema = z
  .record(textSchema(100), mapValueSchema)
  .refine((map) => Object.keys(map).length <= mapEntriesMax, { error: `must have at most ${mapEntriesMax} entries` })
  .meta({ maxProperties: mapEntriesMax })
