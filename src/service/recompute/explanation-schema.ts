import { z } from 'zod'
import { scoreTypes } from '../../base/contract/score.ts'

const fraction = z.number().min(0).max(1)
const count = z.int().min(0)

const aboutLogs = {
  dataType: z.string(),
  source: z.string(),
  deviceType: z.string(),
  as: z.string().meta({ description: 'The kind or factor that the log was considered for' }),
  startDateTime: z.string(),
  endDateTime: z.string(),
  amount: z.number().optional(),
  reason: z.string().optional(),
}
const explainedLog = z.strictObject({ id: z.string(), value: z.number(), ...aboutLogs })
const explainedGroup = z.strictObject({ count, ...aboutLogs })

const factor = z.strictObject({
  name: z.string(),
  value: z.number(),
  goal: z.number(),
  unit: z.string(),
  score: fraction,
  weight: fraction.meta({ description: 'Its share of the score; 0 where the factor does not count' }),
  contribution: fraction,
  basis: z.string().optional(),
})

/** The answer of the route that explains. Lists of logs are bounded; the counts are of all logs. */
export const explanationSchema = z.strictObject({
  score: z.enum(scoreTypes),
  date: z.string(),
  value: fraction.nullable(),
  state: z.string().nullable(),
  coverage: fraction,
  modelVersion: z.string(),
  notice: z.string(),
  reason: z.string().nullable().meta({ description: 'Why there is no score; null when there is one' }),
  factors: z.array(factor),
  missing: z.array(z.strictObject({ name: z.string(), weight: fraction, reason: z.string() })),
  used: z.array(explainedLog),
  leftOut: z.array(explainedLog),
  usedCount: count,
  leftOutCount: count,
  usedGroups: z.array(explainedGroup),
  leftOutGroups: z.array(explainedGroup),
})
