import { z } from 'zod'
import { count } from './result-fields.ts'

/** The public shape of the output of `doctor --json`. */
const examinationResult = z.strictObject({
  configuration: z.array(
    z.strictObject({
      name: z.string(),
      value: z.string(),
      from: z.enum(['set', 'default', 'absent']),
      about: z.string(),
    }),
  ),
  findings: z.array(
    z.strictObject({ subject: z.string(), state: z.string(), text: z.string(), hint: z.string().optional() }),
  ),
})

const pointState = z.enum(['as specified', 'harmless', 'harmful', 'unseen'])

/** The public shape of the output of `doctor --contract --json`. */
const contractResult = z.strictObject({
  requests: count,
  people: count,
  harmful: count,
  harmless: count,
  points: z.array(
    z.strictObject({
      point: z.string(),
      state: pointState,
      specified: z.string(),
      says: z.array(z.string()),
      request: z.string().optional(),
      setting: z.string().optional(),
    }),
  ),
  /** With `--compare`. */
  changes: z.array(z.strictObject({ subject: z.string(), state: pointState, says: z.string() })).optional(),
})

export const doctorResult = z.union([examinationResult, contractResult])
