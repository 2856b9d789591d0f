import { defineProducer } from '../src/producer.ts'
import { syncProfile } from './sync-profile.ts'

/** Once a night, everybody: whoever has not been dealt with since the slot began. */
export const nightly = defineProducer({
  name: 'nightly',
  lane: 'nightly',
  job: syncProfile,
  page: (run, afterId, { profiles, limit }) => profiles.unfinishedSince(run.startedAt, afterId, limit),
  payload: (_run, profileId) => ({ profileId }),
})
