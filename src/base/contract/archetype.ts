import { z } from 'zod'
import { answeredInstantSchema, instantSchema } from './instant-schemas.ts'
import { periodicityQueryShape, windowQueryShape, withOrderedEnds, wordListSchema } from './query-shapes.ts'
import { uuidSchema } from './text.ts'

/** The ordinal archetypes with their values from 0 to 3. */
export const ordinalArchetypes = {
  activity_level: ['sedentary', 'lightly_active', 'moderately_active', 'highly_active'],
  exercise_frequency: ['rare_exerciser', 'occasional_exerciser', 'regular_exerciser', 'frequent_exerciser'],
  mental_wellness: ['poor_mental_wellness', 'fair_mental_wellness', 'good_mental_wellness', 'optimal_mental_wellness'],
  overall_wellness: ['poor_wellness', 'fair_wellness', 'good_wellness', 'optimal_wellness'],
  sleep_duration: ['very_short_sleeper', 'short_sleeper', 'average_sleeper', 'long_sleeper'],
  sleep_efficiency: [
    'highly_inefficient_sleeper',
    'inefficient_sleeper',
    'efficient_sleeper',
    'highly_efficient_sleeper',
  ],
  sleep_quality: ['poor_sleep_quality', 'fair_sleep_quality', 'good_sleep_quality', 'optimal_sleep_quality'],
  sleep_regularity: ['highly_irregular_sleeper', 'irregular_sleeper', 'regular_sleeper', 'highly_regular_sleeper'],
  bed_schedule: ['very_early_sleeper', 'early_sleeper', 'late_sleeper', 'very_late_sleeper'],
  wake_schedule: ['very_early_riser', 'early_riser', 'late_riser', 'very_late_riser'],
} as const

export const categoricalArchetypes = [
  'primary_exercise',
  'secondary_exercise',
  'primary_exercise_type',
  'sleep_pattern',
] as const

const archetypePeriodicities = ['weekly', 'monthly'] as const

export const archetypeQuerySchema = withOrderedEnds(
  z.object({
    ...windowQueryShape,
    name: wordListSchema.optional(),
    types: wordListSchema.optional(),
    ...periodicityQueryShape,
  }),
)

/** The period ends at 00:00 of its last day. `ordinality` is 0 for categorical archetypes. */
export const archetypeAnswerSchema = z.strictObject({
  id: uuidSchema,
  name: z.string(),
  value: z.string(),
  dataType: z.enum(['ordinal', 'categorical']),
  ordinality: z.int().min(0).max(3),
  periodicity: z.enum(archetypePeriodicities),
  startDateTime: answeredInstantSchema,
  endDateTime: answeredInstantSchema,
  version: z.int().min(1),
})

export const receivedArchetypeSchema = z.looseObject({
  id: z.string().optional(),
  name: z.string().min(1),
  value: z.string().nullish(),
  dataType: z.string().nullish(),
  ordinality: z.number().nullish(),
  periodicity: z.string().nullish(),
  startDateTime: instantSchema,
  endDateTime: instantSchema,
  version: z.union([z.number(), z.string()]).nullish(),
})
