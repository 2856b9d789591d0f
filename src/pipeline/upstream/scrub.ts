import { z } from 'zod'
import { errorBodySchema } from '../../base/contract/error-body.ts'
import { isJsonObject, jsonOrUndefined } from '../../base/text/json.ts'
import { foldedName } from '../transfer/misfits.ts'
import { isRefusalWord } from './refusal-words.ts'

export type Scrubbing = {
  /** Texts to remove, wherever they occur. */
  readonly secrets: readonly string[]
  /** Names of fields of the request's items that may stay, beside those of our own contract. */
  readonly fields?: readonly string[] | undefined
}

type ScrubbedDetail = { path: string; reasons: readonly string[] }

const DETAILS_MAX = 200
const REASONS_MAX = 20
const TEXT_CHARACTERS_MAX = 200

const lenientErrorBodySchema = z.looseObject({
  title: z.string().optional(),
  message: z.string().optional(),
  errors: z
    .array(
      z.looseObject({ origin: z.string().nullish(), errors: z.union([z.array(z.string()), z.string()]).optional() }),
    )
    .optional(),
})

/**
 * The error body of a refusal, scrubbed for logs, tables and the screen. Upstream may quote the request, or say what it
 * knows about a person, so only the words of a validator and the names of our own fields stay (`isRefusalWord`).
 */
export function scrubbedDetails(body: string, scrubbing: Scrubbing): { title: string; details: ScrubbedDetail[] } {
  const parsed = lenientErrorBodySchema.safeParse(jsonOrUndefined(body))
  if (!parsed.success) return { title: '', details: [] }
  const { title, message, errors = [] } = parsed.data
  const details = errors.slice(0, DETAILS_MAX).map(({ origin, errors: reasons = [] }) => ({
    path: scrubbedPath(origin ?? '', scrubbing),
    reasons: (typeof reasons === 'string' ? [reasons] : reasons)
      .slice(0, REASONS_MAX)
      .map((text) => scrub(text, scrubbing)),
  }))
  return { title: scrub(title ?? message ?? '', scrubbing), details }
}

export function scrub(text: string, { secrets, fields = [] }: Scrubbing): string {
  let scrubbed = text.slice(0, 10 * TEXT_CHARACTERS_MAX)
  for (const secret of secrets) if (secret.length > 0) scrubbed = scrubbed.replaceAll(secret, '…')
  return scrubbed
    .replace(/(["'`“‘«])[^"'`”’»]*(["'`”’»]|$)/g, '$1…$2')
    .replace(/\S+@\S+/g, '…')
    .replace(/[\w+/=.~-]*\d[\w+/=.:~-]*/g, '…')
    .replace(/[\p{L}_][\p{L}\p{M}_'’]*/gu, (word) => (fields.includes(word) || isRefusalWord(word) ? word : '…'))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replace(/…([\s,]*…)+/g, '…')
    .slice(0, TEXT_CHARACTERS_MAX)
    .trim()
}

/** A path of field names and indexes; other names become `_`. Any other path could hold a value and becomes empty. */
function scrubbedPath(origin: string, { secrets, fields = [] }: Scrubbing): string {
  const named = /^[A-Za-z_$.[\]]*(?:[A-Za-z_$.[\]]|\d{1,4}(?!\d))*$/.test(origin) && origin.length <= 100
  if (!named || secrets.some((secret) => secret.length > 0 && origin.includes(secret))) return ''
  return origin.replace(/[A-Za-z_]+/g, (name) => (fields.includes(name) || isRefusalWord(name) ? name : '_'))
}

const ERROR_BYTES_MAX = 20_000
const ERROR_NAMES_MAX = 10

/** The names of the fields of an error that has another form than the contract's. Undefined: it has that form, or is no JSON object. */
export function oddErrorNamesOf(body: Buffer): string | undefined {
  const error = body.length <= ERROR_BYTES_MAX ? jsonOrUndefined(body.toString('utf8')) : undefined
  if (!isJsonObject(error) || errorBodySchema.safeParse(error).success) return undefined
  const names = [...new Set(Object.keys(error).slice(0, 100).map(foldedName))]
  return names.toSorted().slice(0, ERROR_NAMES_MAX).join(', ')
}
