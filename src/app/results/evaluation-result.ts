import { z } from 'zod'

/** Spearman's ρ, with its interval where there is one. */
const correlation = z.strictObject({
  rho: z.number().nullable(),
  from: z.number().nullable(),
  upTo: z.number().nullable(),
  n: z.int(),
  persons: z.int(),
})

const evaluatedValue = z.strictObject({
  kind: z.enum(['score', 'factor', 'biomarker']),
  name: z.string(),
  all: correlation,
  within: correlation,
  lagged: correlation,
})

/** The public shape of the output of `evaluate --json`. */
export const evaluationResult = z.strictObject({
  figures: z.int(),
  persons: z.int(),
  personsUnknown: z.int(),
  references: z.array(z.strictObject({ name: z.string(), values: z.array(evaluatedValue) })),
})
