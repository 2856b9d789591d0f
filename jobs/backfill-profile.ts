import { z } from 'zod'
import { defineJob, nothing } from '../src/job.ts'
import { pullDue } from '../src/pull.ts'
import { HOUR } from '../src/window.ts'
import { registerProfile } from './register-profile.ts'

/**
 * Pulls the uncovered part of a range for one person, newest first; registers them before, if they are new.
 *
 * It is the same subtraction as the nightly's with other bounds, so it can be stopped and begun again at any point and
 * reads nothing twice. Its requests yield to those of nightly and manual syncs.
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
    const range = { from, to: Math.min(to, context.now()) }
    if (range.from >= range.to) return nothing
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams, range, again })
    if (!plan || plan.profile.state === 'gone') return nothing
    if (plan.profile.state === 'new') await registerProfile.run({ profileId }, context)
    return pullDue(plan.profile, plan.due, context)
  },
})
