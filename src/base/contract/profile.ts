import { z } from 'zod'
import { externalIdSchema } from './authentication.ts'
import { answeredInstantSchema } from './instant-schemas.ts'
import { isCleanText, uuidSchema } from './text.ts'

export const profileAnswerSchema = z.strictObject({
  profileId: uuidSchema,
  accountId: uuidSchema,
  externalId: z.string(),
  sdkId: z.string().optional(),
  sdkVersion: z.string().optional(),
  deviceType: z.string().optional(),
  createdAtUtc: answeredInstantSchema,
  dataLastReceivedAtUtc: answeredInstantSchema.nullable(),
  isSampleProfile: z.boolean(),
  dataSources: z.array(z.strictObject({ sourceName: z.string(), deviceType: z.string() })),
})

const pageSizeMax = 100

const wholeNumberSchema = (max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(
      z
        .int()
        .min(1, { error: 'must be at least 1' })
        .max(max, { error: `must be at most ${max}` }),
    )

export const profileSearchQuerySchema = z.object({
  searchParameter: z
    .string()
    .max(100)
    .refine(isCleanText, { error: 'must not hold NUL or lone surrogates' })
    .optional(),
  currentPage: wholeNumberSchema(1_000_000).default(1),
  pageSize: wholeNumberSchema(pageSizeMax).default(20),
})

export const profilePageAnswerSchema = z.strictObject({
  items: z.array(profileAnswerSchema),
  currentPage: z.int(),
  totalPages: z.int(),
  pageSize: z.int(),
  totalCount: z.int(),
})

const profilesDeletedMax = 1000

/** The two bodies that may hold the ids of profiles to delete; a query parameter is the third way. */
export const deleteProfilesInputSchema = z.union(
  [
    z.object({ externalIds: z.array(externalIdSchema).max(profilesDeletedMax) }),
    z.array(externalIdSchema).max(profilesDeletedMax),
  ],
  { error: 'must be an array of externalIds, or an object with one under externalIds' },
)

export const receivedProfileSchema = z.looseObject({
  externalId: z.string().min(1),
  profileId: z.string().optional().catch(undefined),
  createdAtUtc: z.string().optional().catch(undefined),
  dataLastReceivedAtUtc: z.string().nullish().catch(undefined),
  isSampleProfile: z.boolean().optional().catch(undefined),
})

const lenientCount = z.number().int().nonnegative().optional().catch(undefined)

/** The items are not parsed here, so that one invalid profile does not cost its whole page. */
export const receivedProfilePageSchema = z.looseObject({
  items: z.array(z.unknown()),
  currentPage: lenientCount,
  totalPages: lenientCount,
  pageSize: lenientCount,
  totalCount: lenientCount,
})

export type ProfileAnswer = z.infer<typeof profileAnswerSchema>
export type ReceivedProfile = z.infer<typeof receivedProfileSchema>
export type ReceivedProfilePage = z.infer<typeof receivedProfilePageSchema>
