import { z } from 'zod'
import { textSchema } from './text.ts'

export const tokenLifetimeSecondsMax = 86_400

export const externalIdSchema = textSchema(100)

/** No profile can be asked for by these names: `profile/search` is the search, and clients drop dots from a path. */
export const unaddressableNames = ['search', '.', '..'] as const

/** The externalId of a profile that is to be registered. */
export const newExternalIdSchema = externalIdSchema
  .refine((name) => !unaddressableNames.some((unaddressable) => unaddressable === name), {
    error: 'must not be "search", "." or "..": no request can ask for a profile of this name',
  })
  .meta({ not: { enum: [...unaddressableNames] } })

export const accountTokenInputSchema = z.object({ clientId: textSchema(200), clientSecret: textSchema(200) })

export const registerInputSchema = z.object({ externalId: newExternalIdSchema })

const booleanSchema = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
  error: 'must be true or false',
})

export const profileTokenInputSchema = z.object({
  externalId: externalIdSchema,
  readOnly: booleanSchema.default(false),
  lifetime: z.int().min(1).max(tokenLifetimeSecondsMax).default(tokenLifetimeSecondsMax),
})

export const refreshInputSchema = z.object({ refreshToken: textSchema(500) })

export const accountTokenAnswerSchema = z.strictObject({
  accountToken: z.string(),
  expiresIn: z.int().min(1).max(tokenLifetimeSecondsMax),
  tokenType: z.literal('Account'),
})

export const profileTokenAnswerSchema = z.strictObject({
  profileToken: z.string(),
  expiresIn: z.int().min(1).max(tokenLifetimeSecondsMax),
  tokenType: z.literal('Profile'),
  refreshToken: z.string(),
})

const lenientSeconds = z.number().positive().optional().catch(undefined)

/** In one documented variant the answer holds the token alone. */
export const receivedAccountTokenSchema = z.looseObject({ accountToken: z.string().min(1), expiresIn: lenientSeconds })

export const receivedProfileTokenSchema = z.looseObject({
  profileToken: z.string().min(1),
  expiresIn: lenientSeconds,
  refreshToken: z.string().min(1).optional().catch(undefined),
})

export type ProfileTokenInput = z.infer<typeof profileTokenInputSchema>
export type ProfileTokenAnswer = z.infer<typeof profileTokenAnswerSchema>
export type ReceivedProfileToken = z.infer<typeof receivedProfileTokenSchema>
