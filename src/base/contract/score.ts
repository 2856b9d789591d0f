import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant-schemas.ts'
import { periodicityQueryShape, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { uuidSchema } from './text.ts'

export const scoreTypes = ['wellbeing', 'activity', 'sleep', 'readiness', 'mental_wellbeing'] as const
const scoreStates = ['minimal', 'low', 'medium', 'high'] as const
const scoreDataSources = ['age', 'gender', 'sleep', 'activity', 'exercise', 'vitals'] as const

export const scoreQuerySchema = withOrderedEnds(
  z.object({
    ...windowQueryShape,
    types: wordListSchema.optional(),
    version: z
      .array(z.string().regex(/^\d{1,9}$/, { error: 'must be a whole number' }))
      .max(10)
      .optional(),
    ...periodicityQueryShape,
  }),
)

const fractionSchema = z.number().min(0).max(1)

const factorAnswerSchema = z.strictObject({
  id: uuidSchema,
  name: z.string(),
  value: z.number(),
  goal: z.number(),
  score: fractionSchema,
  state: z.enum(scoreStates),
  unit: z.string(),
})

/** `id` stays when a score is computed again; `scoreDateTime` is the local midnight at which the scored day begins. */
export const scoreAnswerSchema = z.strictObject({
  id: uuidSchema,
  type: z.enum(scoreTypes),
  value: fractionSchema,
  state: z.enum(scoreStates),
  createdAt: answeredInstantSchema,
  factors: z.array(factorAnswerSchema),
  scoreDateTime: answeredInstantSchema,
  dataSources: z.array(z.enum(scoreDataSources)),
  version: z.int().min(1),
})

/** A score needs its type and one instant: `scoreDateTime`, or the instant of creation when upstream sends no other. */
export const receivedScoreSchema = z
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
  .refine((score) => score.scoreDateTime ?? score.createdAt ?? score.createdAtUtc, {
    path: ['scoreDateTime'],
    error: 'neither scoreDateTime nor createdAt is there',
  })
