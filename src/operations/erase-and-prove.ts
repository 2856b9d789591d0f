import { eraseProfile } from '../../jobs/erase-profile.ts'
import { NotThere, RetryLater } from '../base/errors.ts'
import { sleep } from '../base/sleep.ts'
import { formatDuration } from '../base/text/readable.ts'
import { createProfileReport } from '../pipeline/warehouse/reports/profile-report.ts'
import type { Pipeline } from './pipeline.ts'
import { type RemarkOutput, unknownIdProblem } from './select-profiles.ts'

/** Erases a profile upstream and here. Returns the removed rows, the answer of upstream, and the remaining rows. */
export async function eraseAndProve(
  { pipeline, signal }: { pipeline: Pipeline; signal: AbortSignal },
  externalId: string,
  { say }: RemarkOutput,
) {
  const profileId = (await pipeline.profiles.findId(externalId))?.profileId
  if (profileId === undefined) throw unknownIdProblem('profile', 'vitalsync profiles list')
  const queueJobs = await pipeline.context.forgetJobs(profileId)
  let removed: ReadonlyArray<{ table: string; rows: number }> = []
  const profiles = {
    ...pipeline.profiles,
    erase: async (id: string) => {
      removed = await pipeline.profiles.erase(id)
      return removed
    },
  }
  const request = { lane: 'manual', signal } as const
  const context = { ...pipeline.context, ...request, profiles, lastAttempt: true }
  await retryLater(() => eraseProfile.run({ profileId }, context), { say, signal })
  const upstream = await pipeline.upstream.profile(externalId, request).then(
    () => 'still there' as const,
    (error: unknown) => {
      if (error instanceof NotThere) return 'gone' as const
      throw error
    },
  )
  const tombstone = (await pipeline.profiles.erasedAmong([externalId])).has(externalId)
  const left = (await createProfileReport(pipeline).countRows(profileId)).filter(({ rows }) => rows > 0)
  const complete = upstream === 'gone' && tombstone && left.length === 0
  return { removed, queueJobs, upstream, tombstone, left, complete }
}

/** Waits as long as the error asks, and says so. */
async function retryLater<T>(
  work: () => Promise<T>,
  { say, signal }: RemarkOutput & { signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error
      say(`${error.message}: going on in ${formatDuration(error.waitMs)}`)
      await sleep(error.waitMs, signal)
    }
  }
}
