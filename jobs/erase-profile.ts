import { z } from 'zod'
import { RetryLater } from '../src/errors.ts'
import { defineJob, nothing } from '../src/job.ts'
import { MINUTE } from '../src/window.ts'

/**
 * Removes a person: upstream first, then here, down to a salted hash that keeps jobs in flight and later imports from
 * bringing them back.
 *
 * They are called gone at once, so that nobody begins a registration any more; one that is under way is waited for, because
 * its worker may be dead, and then nobody would undo it. Upstream goes next because only we still know the name to ask for.
 * Dying in between, the job runs again: upstream does not mind being asked twice. The ledger's row is what every reading
 * needs to be stored, so one that is under way finds nothing to belong to.
 */
export const eraseProfile = defineJob({
  name: 'erase-profile',
  payload: z.object({ profileId: z.string().min(1) }),
  attemptsMax: 10,
  timeoutMs: 5 * MINUTE,

  async run({ profileId }, context) {
    const plan = await context.ledger.plan({ profileId, nowMs: context.now(), streams: [] })
    if (!plan) return nothing
    await context.profiles.setState(profileId, 'gone')
    const waitMs = await context.profiles.registeringMs(profileId)
    if (waitMs > 0) throw new RetryLater('erase profile: a registration of this person is under way', { waitMs })
    await context.upstream.deleteProfiles([plan.profile.externalId], { lane: context.lane, signal: context.signal })
    await context.upstream.forget(profileId)
    await context.forgetJobs(profileId)
    const removed = await context.profiles.erase(profileId)
    return { ...nothing, requests: 1, rowsWritten: removed.reduce((sum, { rows }) => sum + rows, 0) }
  },
})
