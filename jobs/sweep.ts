import { defineProducer } from '../src/producer.ts'
import { syncProfile } from './sync-profile.ts'

/**
 * Between the nights, whoever is due again: what was pushed and has been digested upstream, what was refused and may be
 * asked for again, who is new, and who has not been read for long.
 */
export const sweep = defineProducer({
  name: 'sweep',
  lane: 'manual',
  job: syncProfile,
  page: (_run, afterId, { profiles, limit }) => profiles.dueNow(afterId, limit),
  payload: (_run, profileId) => ({ profileId }),
})
