import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant-schemas.ts'
import { periodicityQueryShape, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { uuidSchema } from './text.ts'

export const trendCategories = ['score', 'factor'] as const
const trendStates = ['increasing', 'decreasing', 'stable'] as const

export const trendQuerySchema = withOrderedEnds(
  z.object({
    ...windowQueryShape,
    name: wordListSchema.optional(),
    types: wordListSchema.optional(),
    category: wordListSchema.optional(),
    categories: wordListSchema.optional(),
    ...periodicityQueryShape,
  }),
)

/** Covers the last four complete weeks. The last four fields are additions to the interface: they say how the trend was computed. */
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

/** Identified by (category, name, periodicity, start, end), because upstream may send no id. */
export const receivedTrendSchema = z.looseObject({
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
