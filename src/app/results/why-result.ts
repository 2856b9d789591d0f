import { z } from 'zod'
import { upstreamReasonSchema } from '../../operations/fetch-explanation.ts'
import { emptyCauses } from '../../pipeline/ledger/empty-causes.ts'
import { dayStates } from '../../pipeline/warehouse/reports/day-report.ts'
import { causeEvidence, count, instant } from './result-fields.ts'

/** The public shape of the output of `why --json`: a day of a stream. */
export const whyResult = z.strictObject({
  externalId: z.string(),
  stream: z.string(),
  localDate: z.string(),
  state: z.enum(dayStates),
  reason: z.string(),
  cause: z.enum(emptyCauses).nullable(),
  causeEvidence: causeEvidence.nullable(),
  rows: count,
  settled: z.boolean(),
  readAt: instant.nullable(),
  nextReadAt: instant.nullable(),
  coveredFrom: instant.nullable(),
  coveredTo: instant.nullable(),
  itemsWaiting: count,
  refusals: z.array(
    z.strictObject({
      status: z.int().nullable(),
      reason: z.string(),
      attempts: count,
      firstAt: instant,
      nextTryAt: instant.nullable(),
    }),
  ),
  quarantined: z.array(z.strictObject({ id: z.string(), path: z.string(), reason: z.string(), lastSeenAt: instant })),
  runId: z.string().nullable(),
  upstreamSays: z.array(upstreamReasonSchema).optional(),
})
