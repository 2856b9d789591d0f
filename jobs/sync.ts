import { defineProducer } from '../src/producer.ts'
import { syncProfile } from './sync-profile.ts'

/** A nightly by hand: everybody, or those named, and if asked for only some streams. */
export const sync = defineProducer({
  name: 'sync',
  lane: 'manual',
  job: syncProfile,
  page: (run, afterId, { profiles, limit }) => profiles.page(afterId, limit, namedIn(run.params)),
  payload: (run, profileId) => ({
    profileId,
    ...(Array.isArray(run.params['streams']) ? { streams: run.params['streams'] } : {}),
  }),
})

/** Our own ids, as a run keeps them when only some people are meant. */
export const namedIn = (params: Readonly<Record<string, unknown>>): readonly string[] | undefined =>
  Array.isArray(params['profileIds']) ? params['profileIds'].map(String) : undefined
