import { z } from 'zod'

/** The public shape of the output of `doctor --json`. */
export const doctorResult = z.strictObject({
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
