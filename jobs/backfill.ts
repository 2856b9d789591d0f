import { defineProducer } from '../src/producer.ts'
import { backfillProfile } from './backfill-profile.ts'
import { namedIn } from './sync.ts'

/** A range of the past, for everybody or those named. What is covered already costs one look at the ledger. */
export const backfill = defineProducer({
  name: 'backfill',
  lane: 'backfill',
  job: backfillProfile,
  page: (run, afterId, { profiles, limit }) => profiles.page(afterId, limit, namedIn(run.params)),
  payload: ({ params }, profileId) => ({
    profileId,
    from: Number(params['from']),
    to: Number(params['to']),
    ...(Array.isArray(params['streams']) ? { streams: params['streams'] } : {}),
    ...(params['again'] === true ? { again: true } : {}),
  }),
})
