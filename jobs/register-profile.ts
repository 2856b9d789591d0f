import { z } from 'zod'
import { NotThere, Rejected } from '../src/errors.ts'
import { defineJob, nothing } from '../src/job.ts'
import { MINUTE } from '../src/window.ts'

/** Far longer than a request may take, so a worker that died has none under way any more. */
const UNDER_WAY_MAX_MS = 2 * MINUTE

/**
 * Makes a person known upstream.
 *
 * Safe to run twice: a name that upstream already has is asked for, not registered again. Whoever is there, for whatever
 * reason, is registered. Whoever was erased here meanwhile is removed there again.
 */
export const registerProfile = defineJob({
  name: 'register-profile',
  payload: z.object({ profileId: z.string().min(1) }),
  attemptsMax: 6,
  timeoutMs: 2 * MINUTE,

  async run({ profileId }, context) {
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams: [] })
    if (plan?.profile.state !== 'new') return nothing
    const { profile } = plan
    const options = { lane: context.lane, signal: context.signal }

    if (!(await context.profiles.registering(profileId, UNDER_WAY_MAX_MS))) return nothing
    await context.upstream.register(profile, options).catch(async (error: unknown) => {
      // Registered, but its token finds nobody here to belong to.
      if (error instanceof NotThere && error.removed) return
      if (!(error instanceof Rejected)) throw error
      // Refused because it is there already: then asking for it succeeds, and else says better what is wrong.
      await context.upstream.profile(profile.externalId, options)
    })
    const isOurs = await context.profiles.setState(profileId, 'active')
    if (!isOurs) {
      await context.upstream.deleteProfiles([profile.externalId], options)
      await context.profiles.registering(profileId, 0)
    }
    return { ...nothing, requests: 1 }
  },
})
