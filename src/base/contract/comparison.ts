import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant-schemas.ts'
import { periodicityQueryShape, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { uuidSchema } from './text.ts'

export const comparisonCategories = ['score', 'biomarker'] as const
const comparisonStates = ['very_low', 'low', 'average', 'high', 'very_high'] as const
export const comparisonNames = [
  'wellbeing',
  'activity',
  'sleep',
  'readiness',
  'mental_wellbeing',
  'steps',
  'sleep_duration',
  'heart_rate_resting',
  'heart_rate_variability_sdnn',
  'heart_rate_variability_rmssd',
  'vo2_max',
] as const

export const comparisonQuerySchema = withOrderedEnds(
  z.object({
    ...windowQueryShape,
    name: wordListSchema.optional(),
    types: wordListSchema.optional(),
    category: wordListSchema.optional(),
    categories: wordListSchema.optional(),
    ...periodicityQueryShape,
  }),
)

const referenceSchema = z.strictObject({
  type: z.enum(['baseline', 'demographic', 'global']),
  value: z.number(),
  percentile: z.number().min(0).max(100).nullable(),
  difference: z.number(),
  percentageDifference: z.number().nullable(),
  state: z.enum(comparisonStates),
  properties: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
})

export const comparisonAnswerSchema = z.strictObject({
  id: uuidSchema,
  type: z.literal('comparison'),
  category: z.enum(comparisonCategories),
  name: z.string(),
  value: z.number(),
  unit: z.string(),
  isHigherBetter: z.boolean(),
  periodicity: z.literal('daily'),
  startDateTime: answeredInstantSchema,
  endDateTime: answeredInstantSchema,
  data: z.array(referenceSchema),
})

/** Identified by (category, name, periodicity, start, end), because upstream may send no id. */
export const receivedComparisonSchema = z.looseObject({
  id: z.string().optional(),
  category: z.string().min(1),
  name: z.string().min(1),
  value: z.union([z.number(), z.string()]).nullish(),
  unit: z.string().nullish(),
  isHigherBetter: z.boolean().nullish(),
  periodicity: z.string().nullish(),
  startDateTime: instantSchema,
  endDateTime: instantSchema,
  data: z.array(z.unknown()).nullish(),
})
