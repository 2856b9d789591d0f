import { z } from 'zod'
import { defineProducer } from '../src/pipeline/work/producer.ts'
import { syncProfile } from './sync-profile.ts'

/** A nightly that an operator starts: of all profiles or the named ones, of all streams or the named ones. */
export const sync = defineProducer({
  name: 'sync',
  lane: 'manual',
  job: syncProfile,
  params: z.object({ profileIds: z.array(z.string()).optional(), streams: z.array(z.string()).optional() }),

  page: ({ params, afterId, limit }, profiles) => profiles.list(afterId, limit, params.profileIds),
  jobParams: ({ streams }) => (streams === undefined ? {} : { streams }),
})
