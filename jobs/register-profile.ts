import { z } from 'zod'
import { NotThere, Rejected } from '../src/base/errors.ts'
import { MINUTE } from '../src/base/time/units.ts'
import { noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob } from '../src/pipeline/work/job.ts'

/** Far longer than a request may take: after it, a worker that died has no registration under way any more. */
const REGISTRATION_MAX_MS = 2 * MINUTE

/**
 * Registers a profile upstream.
 *
 * Safe to run twice: a profile that upstream has already, for whatever reason, counts as registered. A profile that was
 * erased in the warehouse meanwhile is deleted upstream again.
 */
export const registerProfile = defineJob({
  name: 'register-profile',
  payload: z.object({ profileId: z.string().min(1) }),
  attemptsMax: 6,
  timeoutMs: 2 * MINUTE,

  async run({ profileId }, context) {
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams: [] })
    if (plan?.profile.state !== 'new') return noCounts
    const { profile } = plan
    const options = { lane: context.lane, signal: context.signal }

    if (!(await context.profiles.beginRegistration(profileId, REGISTRATION_MAX_MS))) return noCounts
    await context.upstream.register(profile, options).catch(async (error: unknown) => {
      // The profile is registered, but its token cannot be stored: the profile was erased in the warehouse meanwhile.
      if (error instanceof NotThere && error.removed) return
      if (!(error instanceof Rejected)) throw error
      // If the profile is registered already, reading it succeeds; if not, the error of the reading says more.
      await context.upstream.profile(profile.externalId, options)
    })
    const isOurs = await context.profiles.setState(profileId, 'active')
    if (!isOurs) {
      await context.upstream.deleteProfiles([profile.externalId], options)
      await context.profiles.endRegistration(profileId)
    }
    return { ...noCounts, requests: 1 }
  },
})
