import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant.ts'
import { periodicitiesSchema, windowQueryShape, withWindowOrder, wordsSchema } from './query.ts'
import { uuidSchema } from './text.ts'

export const trendCategories = ['score', 'factor'] as const
export const trendStates = ['increasing', 'decreasing', 'stable'] as const

export const trendQuerySchema = withWindowOrder(
  z.object({
    ...windowQueryShape,
    name: wordsSchema.optional(),
    types: wordsSchema.optional(),
    category: wordsSchema.optional(),
    categories: wordsSchema.optional(),
    periodicity: periodicitiesSchema(['weekly']).optional(),
  }),
)

/** The last four complete weeks. Beyond the interface, a trend may say how it was found. */
export const trendAnswerSchema = z.strictObject({
  id: uuidSchema,
  type: z.literal('trend'),
  category: z.enum(trendCategories),
  name: z.string(),
  state: z.enum(trendStates),
  isHigherBetter: z.boolean(),
  valueRange: z.strictObject({ min: z.number(), max: z.number() }).optional(),
  unit: z.string(),
  periodicity: z.literal('weekly'),
  trendStartDateTime: answeredInstantSchema,
  trendEndDateTime: answeredInstantSchema,
  data: z.array(
    z.strictObject({
      startDateTime: answeredInstantSchema,
      endDateTime: answeredInstantSchema,
      value: z.number(),
      percentChangeFromPrevious: z.number().nullable(),
    }),
  ),
  slopePerWeek: z.number().optional(),
  pValue: z.number().nullable().optional(),
  method: z.string().optional(),
  weeksUsed: z.int().optional(),
})

/** Known by (category, name, periodicity, start, end): upstream may send no id. */
export const trendReadingSchema = z.looseObject({
  id: z.string().optional(),
  category: z.string().min(1),
  name: z.string().min(1),
  state: z.string().nullish(),
  isHigherBetter: z.boolean().nullish(),
  unit: z.string().nullish(),
  periodicity: z.string().nullish(),
  trendStartDateTime: instantSchema,
  trendEndDateTime: instantSchema,
  data: z.array(z.unknown()).nullish(),
})
