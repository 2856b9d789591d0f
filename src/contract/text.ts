import { z } from 'zod'

/** Text that a database, a log and a JSON document can all carry: no NUL, no half of a surrogate pair. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\u0000')
}

/** The same for a JSON schema, in so far as a pattern can say it. */
const cleanText = { pattern: '^[^\\u0000]*$' }

/** A non-empty string of at most `charactersMax`, free of what cannot be stored. */
export function textSchema(charactersMax: number) {
  return z
    .string()
    .min(1, { error: 'must not be empty' })
    .max(charactersMax, { error: `must be at most ${charactersMax} characters` })
    .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
    .meta(cleanText)
}

/** One word of a closed list, whatever its case; answered in the list's own case. */
export function closedWordSchema<const Words extends readonly [string, ...string[]]>(words: Words) {
  const known = new Map<string, string>(words.map((word) => [word.toLowerCase(), word]))
  return z
    .string()
    .transform((text) => known.get(text.trim().toLowerCase()) ?? text)
    .pipe(z.enum(words, { error: `must be one of ${words.join(', ')}` }))
    .meta({ examples: [...words] })
}

export const uuidSchema = z.guid({ error: 'must be a UUID' })

const entriesMax = 50

const entrySchema = z
  .string()
  .max(2000)
  .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
  .meta(cleanText)

/** A small map of strings to strings. */
export const stringMapSchema = z
  .record(textSchema(100), entrySchema)
  .refine((map) => Object.keys(map).length <= entriesMax, { error: `must have at most ${entriesMax} entries` })
  .meta({ maxProperties: entriesMax })
