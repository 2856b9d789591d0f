import { z } from 'zod'

type Detail = { path: string; reasons: readonly string[] }

const DETAILS_MAX = 200
const REASONS_MAX = 20
const WORDS_MAX = 200

const errorBody = z.looseObject({
  title: z.string().optional(),
  message: z.string().optional(),
  errors: z
    .array(
      z.looseObject({ origin: z.string().nullish(), errors: z.union([z.array(z.string()), z.string()]).optional() }),
    )
    .optional(),
})

/**
 * Upstream's own words about a refusal, fit for logs and tables. Upstream may quote what it was sent, so everything that
 * could be a value goes: the secrets and names of this very request, whatever stands in quotes, digits, and long words.
 */
export function scrubbedDetails(body: string, secrets: readonly string[]): { title: string; details: Detail[] } {
  const parsed = errorBody.safeParse(jsonOf(body))
  if (!parsed.success) return { title: '', details: [] }
  const { title, message, errors = [] } = parsed.data
  const details = errors.slice(0, DETAILS_MAX).map(({ origin, errors: reasons = [] }) => ({
    path: pathOf(origin ?? '', secrets),
    reasons: (typeof reasons === 'string' ? [reasons] : reasons).slice(0, REASONS_MAX).map((r) => scrub(r, secrets)),
  }))
  return { title: scrub(title ?? message ?? '', secrets), details }
}

export function scrub(words: string, secrets: readonly string[]): string {
  let clean = words.slice(0, 10 * WORDS_MAX)
  for (const secret of secrets) if (secret.length > 0) clean = clean.replaceAll(secret, '…')
  return clean
    .replace(/(["'`“‘«])[^"'`”’»]*(["'`”’»]|$)/g, '$1…$2')
    .replace(/\S+@\S+/g, '…')
    .replace(/[\w+/=.~-]*\d[\w+/=.:~-]*/g, '…')
    .replace(/[\p{L}_-]{25,}/gu, '…')
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, WORDS_MAX)
    .trim()
}

/** A path names fields and indexes; anything else in it could be a value. */
function pathOf(origin: string, secrets: readonly string[]): string {
  const plain = /^[A-Za-z_$.[\]]*(?:[A-Za-z_$.[\]]|\d{1,4}(?!\d))*$/.test(origin) && origin.length <= 100
  return plain && !secrets.some((secret) => secret.length > 0 && origin.includes(secret)) ? origin : ''
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
