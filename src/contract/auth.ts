import { z } from 'zod'
import { textSchema } from './text.ts'

export const tokenLifetimeSeconds = 86_400

export const externalIdSchema = textSchema(100)

export const accountTokenInputSchema = z.object({ clientId: textSchema(200), clientSecret: textSchema(200) })

export const registerInputSchema = z.object({ externalId: externalIdSchema })

const yesOrNo = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
  error: 'must be true or false',
})

export const profileTokenInputSchema = z.object({
  externalId: externalIdSchema,
  readOnly: yesOrNo.default(false),
  lifetime: z.int().min(1).max(tokenLifetimeSeconds).default(tokenLifetimeSeconds),
})

export const refreshInputSchema = z.object({ refreshToken: textSchema(500) })

export const accountTokenAnswerSchema = z.strictObject({
  accountToken: z.string(),
  expiresIn: z.int(),
  tokenType: z.literal('Account'),
})

export const profileTokenAnswerSchema = z.strictObject({
  profileToken: z.string(),
  expiresIn: z.int(),
  tokenType: z.literal('Profile'),
  refreshToken: z.string(),
})

const secondsReading = z.number().positive().optional().catch(undefined)

/** One documented variant has the token alone. */
export const accountTokenReadingSchema = z.looseObject({ accountToken: z.string().min(1), expiresIn: secondsReading })

export const profileTokenReadingSchema = z.looseObject({
  profileToken: z.string().min(1),
  expiresIn: secondsReading,
  refreshToken: z.string().min(1).optional().catch(undefined),
})

export type ProfileTokenInput = z.infer<typeof profileTokenInputSchema>
export type ProfileTokenAnswer = z.infer<typeof profileTokenAnswerSchema>
export type AccountTokenReading = z.infer<typeof accountTokenReadingSchema>
export type ProfileTokenReading = z.infer<typeof profileTokenReadingSchema>
