import { z } from 'zod'
import { HOUR } from '../src/base/time/units.ts'
import { noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob } from '../src/pipeline/work/job.ts'
import { pullDue } from '../src/pipeline/work/pull.ts'
import { registerProfile } from './register-profile.ts'

/**
 * Pulls the uncovered part of a range for one profile, newest first; registers the profile before, if it is new.
 *
 * The due windows are the range minus its coverage, as in a nightly: the job can be stopped at any point, and the
 * next attempt reads no window again. Its requests yield to those of nightly and manual syncs.
 */
export const backfillProfile = defineJob({
  name: 'backfill-profile',
  payload: z.object({
    profileId: z.string().min(1),
    from: z.number().int(),
    to: z.number().int(),
    streams: z.array(z.string()).optional(),
    again: z.boolean().optional(),
  }),
  attemptsMax: 6,
  timeoutMs: HOUR,

  async run({ profileId, from, to, streams, again }, context) {
    const range = { startMs: from, endMs: Math.min(to, context.now()) }
    if (range.startMs >= range.endMs) return noCounts
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams, range, again })
    if (!plan || plan.profile.state === 'gone') return noCounts
    if (plan.profile.state === 'new') await registerProfile.run({ profileId }, context)
    return pullDue(plan.profile, plan.due, context)
  },
})
