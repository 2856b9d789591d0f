import { z } from 'zod'

const explainedLog = z.strictObject({
  id: z.string(),
  dataType: z.string(),
  source: z.string(),
  deviceType: z.string(),
  startDateTime: z.string(),
  endDateTime: z.string(),
  value: z.number(),
  as: z.string(),
  amount: z.number().optional(),
  reason: z.string().optional(),
})

const explainedLogGroup = z.strictObject({
  dataType: z.string(),
  source: z.string(),
  deviceType: z.string(),
  as: z.string(),
  reason: z.string().optional(),
  count: z.int(),
  startDateTime: z.string(),
  endDateTime: z.string(),
  amount: z.number().optional(),
})

/** The public shape of the output of `explain --json`: as the Profile Service explains a score. */
export const explanationResult = z.strictObject({
  score: z.string(),
  date: z.string(),
  value: z.number().nullable(),
  state: z.string().nullable(),
  coverage: z.number(),
  modelVersion: z.string(),
  notice: z.string(),
  reason: z.string().nullable(),
  lacks: z.array(z.strictObject({ input: z.string(), minutes: z.int(), needed: z.int() })),
  factors: z.array(
    z.strictObject({
      name: z.string(),
      value: z.number(),
      goal: z.number(),
      unit: z.string(),
      score: z.number(),
      weight: z.number(),
      contribution: z.number(),
      basis: z.string().optional(),
    }),
  ),
  missing: z.array(z.strictObject({ name: z.string(), weight: z.number(), reason: z.string() })),
  used: z.array(explainedLog),
  leftOut: z.array(explainedLog),
  usedCount: z.int(),
  leftOutCount: z.int(),
  usedGroups: z.array(explainedLogGroup),
  leftOutGroups: z.array(explainedLogGroup),
})
