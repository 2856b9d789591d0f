import { z } from 'zod'
import { defineProducer } from '../src/pipeline/work/producer.ts'
import { verifyProfile } from './verify-profile.ts'

/**
 * After each nightly, at the lowest priority: a few covered windows that chance drew are read again. So the rate of silent
 * differences is measured all the time, and not believed.
 */
export const sentinel = defineProducer({
  name: 'sentinel',
  lane: 'backfill',
  job: verifyProfile,
  params: z.object({ seed: z.string(), upTo: z.string(), slotAt: z.string().optional() }),

  page: ({ params, afterId, limit }, profiles) => profiles.listDrawn(params, { afterId, limit }),
  jobParams: ({ seed, upTo }) => ({ seed, upTo }),
})
