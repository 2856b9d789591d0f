import { z } from 'zod'
import { NotThere, Rejected, RetryLater, Unanswered } from '../src/base/errors.ts'
import { MINUTE } from '../src/base/time/units.ts'
import { addCounts, type JobCounts, noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob, type JobContext } from '../src/pipeline/work/job.ts'

type CoveredWindow = Awaited<ReturnType<JobContext['verification']['listDrawn']>>[number]

/**
 * Reads the covered windows that a sentinel drew of one profile again, compares them with the warehouse, and mends what
 * differs.
 *
 * Safe to run twice: a window that was verified before is verified again. A window that upstream will not give now is left
 * out: the sentinel measures, and a profile must not count as failed for it.
 */
export const verifyProfile = defineJob({
  name: 'verify-profile',
  payload: z.object({ profileId: z.string().min(1), seed: z.string(), upTo: z.string() }),
  attemptsMax: 6,
  timeoutMs: 10 * MINUTE,

  async run({ profileId, seed, upTo }, context) {
    let counts = noCounts
    for (const covered of await context.verification.listDrawn(profileId, { seed, upTo })) {
      context.signal.throwIfAborted()
      counts = addCounts(counts, await verifyOne(covered, context))
    }
    return counts
  },
})

async function verifyOne(covered: CoveredWindow, context: JobContext): Promise<JobCounts> {
  const { verification, lane, signal } = context
  try {
    const verified = await verification.verify(covered, { mend: true, options: { lane, signal } })
    if (verified.outcome !== 'uncovered') await verification.count(covered.stream.name, verified)
    return { ...noCounts, requests: verified.requests, rowsRead: verified.records, rowsWritten: verified.written }
  } catch (error) {
    if (!isGivenUp(error, context)) throw error
    return { ...noCounts, requests: 1 }
  }
}

/** A failure that will not pass while this job runs, and that says nothing of the other windows. */
const isGivenUp = (error: unknown, { lastAttempt, waitsExhausted, signal }: JobContext): boolean =>
  !signal.aborted &&
  (error instanceof Rejected ||
    error instanceof NotThere ||
    (error instanceof Unanswered && lastAttempt) ||
    (error instanceof RetryLater && waitsExhausted === true))
