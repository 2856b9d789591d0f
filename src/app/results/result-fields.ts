import { z } from 'zod'

/** The kinds of fields that the results of `--json` share. */
export const instant = z.iso.datetime({ offset: true })
export const count = z.int().nonnegative()
export const share = z.number().min(0).max(1)

/** The reasons of the cause of an empty day. */
export const causeEvidence = z.strictObject({
  kinds: z.array(z.string()).optional(),
  wornMinutes: count.optional(),
  wornHours: count.optional(),
  missing: z.array(z.strictObject({ kind: z.string(), last: z.string() })).optional(),
  before: z.string().optional(),
  after: z.string().optional(),
  usualDelayHours: z.number().optional(),
  expectedAt: z.string().optional(),
  parcels: z.array(count).optional(),
  devices: z.array(z.string()).optional(),
  revised: z.boolean().optional(),
  waiting: z.boolean().optional(),
  refused: z.boolean().optional(),
})
