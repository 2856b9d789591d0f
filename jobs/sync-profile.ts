import { z } from 'zod'
import { NotThere } from '../src/errors.ts'
import { add, defineJob, nothing } from '../src/job.ts'
import { pullDue } from '../src/pull.ts'
import { pushWaiting } from '../src/push.ts'
import { MINUTE } from '../src/window.ts'
import { registerProfile } from './register-profile.ts'

/**
 * Brings one person up to date: registers them if they are new, pushes what waits, then pulls what is due.
 *
 * Safe to run twice, or twice at once: what was sent is known upstream by its own id, and what was read is stored
 * together with the fact that it was read. If it dies half way, what was committed stays and the rest is still due.
 *
 * Pushing comes first because upstream derives anew from it. What a push touches becomes due again, and is read once
 * upstream had time to digest it: by the sweep, not by this job.
 */
export const syncProfile = defineJob({
  name: 'sync-profile',
  payload: z.object({ profileId: z.string().min(1), streams: z.array(z.string()).optional() }),
  attemptsMax: 6,
  timeoutMs: 10 * MINUTE,

  async run({ profileId, streams }, context) {
    const known = await context.ledger.plan({ profileId, nowMs: context.now(), streams })
    if (!known || known.profile.state === 'gone') return nothing

    try {
      if (known.profile.state === 'new') await registerProfile.run({ profileId }, context)
      const pushed = await pushWaiting(known.profile, context)
      const plan =
        pushed.itemsPushed === 0 ? known : await context.ledger.plan({ profileId, nowMs: context.now(), streams })
      if (!plan) return pushed
      return add(pushed, await pullDue(plan.profile, plan.due, context))
    } catch (error) {
      if (!(error instanceof NotThere) || !error.removed) throw error
      await context.profiles.setState(profileId, 'gone')
      return nothing
    }
  },
})
