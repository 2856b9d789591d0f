import { z } from 'zod'
import { RetryLater } from '../src/base/errors.ts'
import { MINUTE } from '../src/base/time/units.ts'
import { noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob } from '../src/pipeline/work/job.ts'

/**
 * Erases a profile: upstream first, then in the warehouse. Only a salted hash stays, by which running jobs and later
 * imports are kept from adding the profile again.
 *
 * The state becomes `gone` first, so no job begins a registration any more. A registration that is under way is waited for:
 * its worker may be dead, and then no other job would undo the registration. Upstream is erased next, because only the
 * warehouse still knows the profile's name. If the worker dies in between, the job runs again: deleting twice is harmless
 * upstream. A reading that is under way stores nothing, because its ledger row is gone.
 */
export const eraseProfile = defineJob({
  name: 'erase-profile',
  payload: z.object({ profileId: z.string().min(1) }),
  attemptsMax: 10,
  timeoutMs: 5 * MINUTE,

  async run({ profileId }, context) {
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams: [] })
    if (!plan) return noCounts
    await context.profiles.setState(profileId, 'gone')
    const waitMs = await context.profiles.registrationLeftMs(profileId)
    if (waitMs > 0) throw new RetryLater('erase profile: a registration of this profile is under way', { waitMs })
    await context.upstream.deleteProfiles([plan.profile.externalId], { lane: context.lane, signal: context.signal })
    await context.upstream.forgetToken(profileId)
    await context.forgetJobs(profileId)
    const removed = await context.profiles.erase(profileId)
    return { ...noCounts, requests: 1, rowsWritten: removed.reduce((sum, { rows }) => sum + rows, 0) }
  },
})
