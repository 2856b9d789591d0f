import { z } from 'zod'
import { defineProducer } from '../src/pipeline/work/producer.ts'
import { syncProfile } from './sync-profile.ts'

/** Once a night, every profile that no job has finished since the run began. */
export const nightly = defineProducer({
  name: 'nightly',
  lane: 'nightly',
  job: syncProfile,
  params: z.object({ slotAt: z.string().optional() }),

  page: ({ run, afterId, limit }, profiles) => profiles.listUnfinishedSince(run.startedAt, afterId, limit),
  jobParams: () => ({}),
})
