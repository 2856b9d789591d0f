import { z } from 'zod'
import { defineProducer } from '../src/pipeline/work/producer.ts'
import { backfillProfile } from './backfill-profile.ts'

/**
 * A range of the past, for all profiles or the named ones. A profile whose range is covered already costs one read of the
 * ledger.
 */
export const backfill = defineProducer({
  name: 'backfill',
  lane: 'backfill',
  job: backfillProfile,
  params: z.object({
    from: z.number().int(),
    to: z.number().int(),
    profileIds: z.array(z.string()).optional(),
    streams: z.array(z.string()).optional(),
    again: z.boolean().optional(),
  }),

  page: ({ params, afterId, limit }, profiles) => profiles.list(afterId, limit, params.profileIds),
  jobParams: ({ from, to, streams, again }) => ({
    from,
    to,
    ...(streams === undefined ? {} : { streams }),
    ...(again ? { again } : {}),
  }),
})

export type BackfillParams = z.input<typeof backfill.params>
