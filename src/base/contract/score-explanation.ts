import { z } from 'zod'
import type { Operation } from './operations.ts'
import { scoreTypes } from './score.ts'

/** Explains a score of a local day. It is none of the 28 operations: only the service of this project answers it. */
export const explainOperation = {
  name: 'explain',
  method: 'GET',
  path: '/api/v1/profile/explain/{externalId}',
  caller: 'account',
} as const satisfies Operation

const fraction = z.number().min(0).max(1)
const count = z.int().min(0)
const text = z.string().max(500)
/** At most fifty are listed; the counts are of all. */
const listMax = 100

const aboutLogs = {
  dataType: text,
  source: text,
  deviceType: text,
  as: text.meta({ description: 'The kind or factor that the log was considered for' }),
  startDateTime: text,
  endDateTime: text,
  amount: z.number().optional().meta({ description: 'How much counts; of a group, of kinds that can be summed' }),
  reason: text.optional().meta({ description: 'Why it was left out' }),
}
const explainedLog = z.object({ id: text, value: z.number(), ...aboutLogs })
const explainedLogGroup = z.object({ count, ...aboutLogs })

const factor = z.object({
  name: text,
  value: z.number(),
  goal: z.number(),
  unit: text,
  score: fraction,
  weight: fraction.meta({ description: 'Its share of the score; 0 where the factor does not count' }),
  contribution: fraction.meta({ description: 'Its part of the value of the score: weight × score' }),
  basis: text.optional(),
})

/**
 * The answer: as the service gives it, as the client takes it, and as `explain --json` prints it. Any upstream may answer the client:
 * what does not fit counts as no answer, and keys that are not named here are left out.
 */
export const explanationSchema = z.object({
  score: z.enum(scoreTypes),
  date: text,
  value: fraction.nullable(),
  state: text.nullable(),
  coverage: fraction,
  modelVersion: text,
  notice: text,
  reason: text.nullable().meta({ description: 'Why there is no score; null when there is one' }),
  lacks: z
    .array(z.object({ input: text, minutes: count, needed: count }))
    .max(listMax)
    .meta({
      description:
        'Which input lacked, where the reason is a matter of minutes: how many are known, of how many needed',
    }),
  factors: z.array(factor).max(listMax),
  missing: z.array(z.object({ name: text, weight: fraction, reason: text })).max(listMax),
  used: z.array(explainedLog).max(listMax),
  leftOut: z.array(explainedLog).max(listMax),
  usedCount: count,
  leftOutCount: count,
  usedGroups: z.array(explainedLogGroup).max(listMax),
  leftOutGroups: z.array(explainedLogGroup).max(listMax),
})

export type Explanation = z.output<typeof explanationSchema>
export type ExplainedLog = z.output<typeof explainedLog>
export type ExplainedLogGroup = z.output<typeof explainedLogGroup>
export type ExplainedFactor = z.output<typeof factor>
