import { z } from 'zod'
import { defineProducer } from '../src/pipeline/work/producer.ts'
import { syncProfile } from './sync-profile.ts'

/**
 * Between the nights, every profile that is due again: the next reading of its pushes counts, a refused window may be read
 * again, the profile is new, or it has not been read for long.
 */
export const sweep = defineProducer({
  name: 'sweep',
  lane: 'manual',
  job: syncProfile,
  params: z.object({ slotAt: z.string().optional() }),

  page: ({ afterId, limit }, profiles) => profiles.listDue(afterId, limit),
  jobParams: () => ({}),
})
