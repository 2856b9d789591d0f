import { z } from 'zod'
import { answeredInstantSchema, instantSchema, storableInstantSchema } from './instant-schemas.ts'
import { endsAfterStart, isObject, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { optionalTextSchema, stringMapSchema, textSchema, uuidSchema } from './text.ts'

export const tagTypes = ['event', 'state'] as const

/** Identified by (type, name, source, startDateTime): the same tag sent again is an update, which can close a state. */
export const tagInputSchema = z
  .object({
    id: uuidSchema.nullish(),
    type: z.enum(tagTypes, { error: 'must be event or state' }),
    name: textSchema(200),
    category: optionalTextSchema(200),
    value: optionalTextSchema(1000),
    source: textSchema(200),
    startDateTime: storableInstantSchema,
    endDateTime: storableInstantSchema.nullish(),
    additionalProperties: stringMapSchema.nullish(),
  })
  .refine((tag) => tag.type === 'state' || tag.endDateTime == null, {
    path: ['endDateTime'],
    error: 'must be absent: an event has no end',
    when: isObject,
  })
  .refine((tag) => endsAfterStart(tag.startDateTime, tag.endDateTime), {
    path: ['endDateTime'],
    error: 'must not lie before startDateTime',
    when: isObject,
  })
  .meta({
    description: 'An event has no endDateTime; that of a state does not lie before its startDateTime',
    not: {
      required: ['type', 'endDateTime'],
      properties: { type: { const: 'event' }, endDateTime: { type: 'string' } },
    },
  })

const tagsPerUploadMax = 1000

export const tagQuerySchema = withOrderedEnds(
  z.object({ ...windowQueryShape, types: wordListSchema.optional(), categories: wordListSchema.optional() }),
)

export const tagsInputSchema = z.union([tagInputSchema, z.array(tagInputSchema).min(1).max(tagsPerUploadMax)])

export const tagAnswerSchema = z.strictObject({
  id: uuidSchema,
  type: z.enum(tagTypes),
  name: z.string(),
  category: z.string().optional(),
  value: z.string().optional(),
  source: z.string(),
  startDateTime: answeredInstantSchema,
  endDateTime: answeredInstantSchema.optional(),
  additionalProperties: z.record(z.string(), z.string()).optional(),
})

export const receivedTagSchema = z.looseObject({
  id: z.string().optional(),
  type: z.string().min(1),
  name: z.string().min(1),
  source: z.string().nullish(),
  category: z.string().nullish(),
  value: z.union([z.string(), z.number(), z.boolean()]).nullish(),
  startDateTime: instantSchema,
  endDateTime: instantSchema.nullish(),
})

export type TagInput = z.infer<typeof tagInputSchema>
export type TagAnswer = z.infer<typeof tagAnswerSchema>
