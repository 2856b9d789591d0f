import { z } from 'zod'
import { NotThere } from '../src/base/errors.ts'
import { MINUTE } from '../src/base/time/units.ts'
import { addCounts, noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob } from '../src/pipeline/work/job.ts'
import { pullDue } from '../src/pipeline/work/pull.ts'
import { pushWaiting } from '../src/pipeline/work/push.ts'
import { registerProfile } from './register-profile.ts'

/**
 * Syncs one profile: registers it if it is new, pushes the items that wait, then pulls the windows that are due.
 *
 * Safe to run twice, or twice at once: upstream knows each pushed item by its id, and the rows of a window are stored in
 * one commit with the fact that the window was read. If the worker dies half way, what was committed stays and the rest is
 * still due.
 *
 * The push comes before the pull because upstream derives records from pushed items. The windows that a push touches become
 * due again, and the sweep reads them after upstream had time to digest the push: not this job.
 */
export const syncProfile = defineJob({
  name: 'sync-profile',
  payload: z.object({ profileId: z.string().min(1), streams: z.array(z.string()).optional() }),
  attemptsMax: 6,
  timeoutMs: 10 * MINUTE,

  async run({ profileId, streams }, context) {
    const known = await context.ledger.plan({ profileId, nowMs: context.now(), streams })
    if (!known || known.profile.state === 'gone') return noCounts

    try {
      if (known.profile.state === 'new') await registerProfile.run({ profileId }, context)
      const pushed = await pushWaiting(known.profile, context)
      const plan =
        pushed.itemsPushed === 0 ? known : await context.ledger.plan({ profileId, nowMs: context.now(), streams })
      if (!plan) return pushed
      return addCounts(pushed, await pullDue(plan.profile, plan.due, context))
    } catch (error) {
      if (!(error instanceof NotThere) || !error.removed) throw error
      await context.profiles.setState(profileId, 'gone')
      return noCounts
    }
  },
})
