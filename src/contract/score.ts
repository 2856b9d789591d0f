import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant.ts'
import { windowQueryShape, withWindowOrder, wordsSchema } from './query.ts'
import { uuidSchema } from './text.ts'

export const scoreTypes = ['wellbeing', 'activity', 'sleep', 'readiness', 'mental_wellbeing'] as const
export const scoreStates = ['minimal', 'low', 'medium', 'high'] as const
export const dataSources = ['age', 'gender', 'sleep', 'activity', 'exercise', 'vitals'] as const

export const scoreQuerySchema = withWindowOrder(
  z.object({
    ...windowQueryShape,
    types: wordsSchema.optional(),
    version: z
      .array(z.string().regex(/^\d{1,9}$/, { error: 'must be a whole number' }))
      .max(10)
      .optional(),
  }),
)

const shareSchema = z.number().min(0).max(1)

export const factorAnswerSchema = z.strictObject({
  id: uuidSchema,
  name: z.string(),
  value: z.number(),
  goal: z.number(),
  score: shareSchema,
  state: z.enum(scoreStates),
  unit: z.string(),
})

/** `id` stays when a score is computed again; `scoreDateTime` is the local midnight that opens the scored day. */
export const scoreAnswerSchema = z.strictObject({
  id: uuidSchema,
  type: z.enum(scoreTypes),
  value: shareSchema,
  state: z.enum(scoreStates),
  createdAt: answeredInstantSchema,
  factors: z.array(factorAnswerSchema),
  scoreDateTime: answeredInstantSchema,
  dataSources: z.array(z.enum(dataSources)),
  version: z.int().min(1),
})

/** Needs its type and one instant: `scoreDateTime`, or where upstream has none, the instant of creation. */
export const scoreReadingSchema = z
  .looseObject({
    id: z.string().optional(),
    type: z.string().min(1),
    value: z.number().nullish(),
    score: z.number().nullish(),
    state: z.string().nullish(),
    createdAt: instantSchema.nullish(),
    createdAtUtc: instantSchema.nullish(),
    scoreDateTime: instantSchema.nullish(),
    factors: z.array(z.unknown()).nullish(),
    dataSources: z.array(z.unknown()).nullish(),
    version: z.union([z.number(), z.string()]).nullish(),
  })
  .refine((reading) => reading.scoreDateTime ?? reading.createdAt ?? reading.createdAtUtc, {
    path: ['scoreDateTime'],
    error: 'neither scoreDateTime nor createdAt is there',
  })

export type ScoreAnswer = z.infer<typeof scoreAnswerSchema>
export type FactorAnswer = z.infer<typeof factorAnswerSchema>
export type ScoreReading = z.infer<typeof scoreReadingSchema>
