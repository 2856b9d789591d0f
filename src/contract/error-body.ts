import { z } from 'zod'

/** What the service answers with every refusal. `origin` names the field, in arrays as `[3].startDateTime`. */
export const errorBodySchema = z.strictObject({
  title: z.string(),
  statusCode: z.int(),
  location: z.string(),
  errors: z.array(z.strictObject({ origin: z.string(), errors: z.array(z.string()) })),
})

/** What a client may meet in a refusal: any part may be missing or of another kind. */
export const errorReadingSchema = z.looseObject({
  title: z.string().optional().catch(undefined),
  statusCode: z.number().optional().catch(undefined),
  location: z.string().optional().catch(undefined),
  errors: z
    .array(z.looseObject({ origin: z.string().catch(''), errors: z.array(z.string()).catch([]) }))
    .optional()
    .catch(undefined),
})

export type ErrorBody = z.infer<typeof errorBodySchema>
export type ErrorReading = z.infer<typeof errorReadingSchema>

/** A path as the error body writes it: `[3].startDateTime`, `errors[0].origin`. */
export function originOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((origin, part) => {
    if (typeof part === 'number') return `${origin}[${part}]`
    return origin === '' ? String(part) : `${origin}.${String(part)}`
  }, '')
}
