import { z } from 'zod'

/** The body of every refusal of the service. `origin` names the field, in arrays as `[3].startDateTime`. */
export const errorBodySchema = z.strictObject({
  title: z.string(),
  statusCode: z.int(),
  location: z.string(),
  errors: z.array(z.strictObject({ origin: z.string(), errors: z.array(z.string()) })),
})

export type ErrorBody = z.infer<typeof errorBodySchema>

/** A path as the error body writes it: `[3].startDateTime`, `errors[0].origin`. */
export function errorOriginOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((origin, part) => {
    if (typeof part === 'number') return `${origin}[${part}]`
    return origin === '' ? String(part) : `${origin}.${String(part)}`
  }, '')
}
