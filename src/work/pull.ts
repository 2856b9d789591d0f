import { NotThere, Rejected, RetryLater, Unanswered } from '../errors.ts'
import { addCounts, type JobCounts, noCounts } from '../transfer/order.ts'
import type { PlannedProfile } from '../transfer/planned-profile.ts'
import type { DueWindow } from '../transfer/reading.ts'
import type { StoreResult } from '../warehouse/readings/store-group.ts'
import type { JobContext } from './job.ts'

type PullContext = Pick<
  JobContext,
  'upstream' | 'ledger' | 'writer' | 'signal' | 'lane' | 'lastAttempt' | 'waitsExhausted' | 'settings'
>

/**
 * Reads the due windows of one profile, a few at a time, and stores each reading as it comes. A window that upstream
 * refuses is recorded with the reason and blocks nothing. A failure that may pass is thrown, but only after the other windows
 * are done: every window that could be read is stored.
 */
export async function pullDue(
  profile: PlannedProfile,
  due: readonly DueWindow[],
  context: PullContext,
): Promise<JobCounts> {
  const left = [...due]
  let counts = noCounts
  const failures: unknown[] = []
  const pullNext = async () => {
    for (let next = left.shift(); next && !concernsEveryWindow(failures); next = left.shift()) {
      try {
        const counted = await pullWindow(profile, next, context)
        counts = addCounts(counts, counted)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(context.settings.windowsAtOnce, due.length) }, pullNext))
  if (failures.length > 0) throw mostInformative(failures)
  return counts
}

/** When upstream asks us to wait, or does not know the profile, every other window would get the same answer. */
const concernsEveryWindow = (failures: readonly unknown[]) =>
  failures.some((error) => !(error instanceof Unanswered) && !(error instanceof Rejected))

const mostInformative = (failures: readonly unknown[]): unknown =>
  failures.find((error) => error instanceof NotThere) ??
  failures.find((error) => !(error instanceof RetryLater) && !(error instanceof Unanswered)) ??
  failures.find((error) => error instanceof RetryLater) ??
  failures[0]

async function pullWindow(profile: PlannedProfile, due: DueWindow, context: PullContext): Promise<JobCounts> {
  try {
    const stored = await readAndStore(profile, due, context)
    return { ...noCounts, requests: 1, rowsRead: stored.read, rowsWritten: stored.written, refused: stored.invalid }
  } catch (error) {
    const refusal = recordableRefusal(error, context)
    await context.ledger.recordRefusal({
      profileId: profile.profileId,
      stream: due.stream.name,
      window: due.window,
      ...refusal,
    })
    return { ...noCounts, requests: 1, refused: 1 }
  }
}

async function readAndStore(
  { profileId, externalId }: PlannedProfile,
  due: DueWindow,
  { upstream, writer, lane, signal }: PullContext,
): Promise<StoreResult> {
  const reading = await upstream.read(due.stream, { profileId, externalId, window: due.window }, { lane, signal })
  return writer.store({ profileId, ...due, ...reading })
}

/** The refusal to record for this window alone. Throws every error that says nothing about the window. */
function recordableRefusal(error: unknown, context: PullContext): { status: number | undefined; reason: string } {
  if (error instanceof Rejected) return { status: error.status, reason: error.message }
  const isOver = error instanceof Unanswered || (error instanceof RetryLater && context.waitsExhausted)
  // A request that we aborted ourselves says nothing about the window.
  if (isOver && context.lastAttempt && !context.signal.aborted) return { status: undefined, reason: error.message }
  throw error
}
