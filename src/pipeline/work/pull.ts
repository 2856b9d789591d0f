import { NotThere, Rejected, RetryLater, Unanswered } from '../../base/errors.ts'
import { addCounts, type JobCounts, noCounts } from '../transfer/order.ts'
import type { PlannedProfile } from '../transfer/planned-profile.ts'
import type { DueWindow } from '../transfer/reading.ts'
import type { StoreResult } from '../warehouse/readings/store-group.ts'
import type { JobContext } from './job.ts'

type PullContext = Pick<
  JobContext,
  'upstream' | 'ledger' | 'writer' | 'pause' | 'signal' | 'lane' | 'lastAttempt' | 'waitsExhausted' | 'settings'
>

/**
 * Reads the due windows of one profile, a few at a time, and stores each reading as it comes. A window that upstream
 * refuses is recorded with the reason and blocks nothing. A failure that may pass is thrown, but only after the other windows
 * are done: every window that could be read is stored.
 *
 * When a reading is missing suspiciously many stored records, the window is read a second time, after a pause. When the
 * second reading does not agree, the window is recorded as refused.
 */
export async function pullDue(
  profile: PlannedProfile,
  due: readonly DueWindow[],
  context: PullContext,
): Promise<JobCounts> {
  const first = await pullWindows(profile, due, context)
  if (first.suspicious.length === 0) return first.counts
  await context.pause(context.settings.secondReadingMs, context.signal)
  const whole = first.suspicious.map((due) => ({ ...due, heldTag: undefined }))
  const second = await pullWindows(profile, whole, context)
  for (const { stream, window } of second.suspicious) {
    const refusal = { status: undefined, reason: SUSPICIOUS_TWICE }
    await context.ledger.recordRefusal({ profileId: profile.profileId, stream: stream.name, window, ...refusal })
  }
  const counts = addCounts(first.counts, second.counts)
  return { ...counts, refused: counts.refused + second.suspicious.length }
}

const SUSPICIOUS_TWICE = 'the answers lack most of the stored records, and not twice the same: believed once two agree'

/** `suspicious`: the windows whose readings alone are not believed. */
async function pullWindows(
  profile: PlannedProfile,
  due: readonly DueWindow[],
  context: PullContext,
): Promise<{ readonly counts: JobCounts; readonly suspicious: readonly DueWindow[] }> {
  const left = [...due]
  let counts = noCounts
  const suspicious: DueWindow[] = []
  const failures: unknown[] = []
  const pullNext = async () => {
    for (let next = left.shift(); next && !concernsEveryWindow(failures); next = left.shift()) {
      try {
        const pulled = await pullWindow(profile, next, context)
        counts = addCounts(counts, pulled.counts)
        if (pulled.isSuspicious) suspicious.push(next)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(context.settings.windowsAtOnce, due.length) }, pullNext))
  if (failures.length > 0) throw mostInformative(failures)
  return { counts, suspicious }
}

/** When upstream asks us to wait, or does not know the profile, every other window would get the same answer. */
const concernsEveryWindow = (failures: readonly unknown[]) => failures.some((error) => !(error instanceof Unanswered))

const mostInformative = (failures: readonly unknown[]): unknown =>
  failures.find((error) => error instanceof NotThere) ??
  failures.find((error) => !(error instanceof RetryLater) && !(error instanceof Unanswered)) ??
  failures.find((error) => error instanceof RetryLater) ??
  failures[0]

async function pullWindow(
  profile: PlannedProfile,
  due: DueWindow,
  context: PullContext,
): Promise<{ readonly counts: JobCounts; readonly isSuspicious: boolean }> {
  try {
    const { isUnchanged, stored, requests } = await readAndStore(profile, due, context)
    const { outcome, read, written, invalid } = stored
    const unchanged = isUnchanged ? 1 : 0
    const counts = { ...noCounts, requests, unchanged, rowsRead: read, rowsWritten: written, refused: invalid }
    return { counts, isSuspicious: outcome === 'suspicious' }
  } catch (error) {
    const refusal = recordableRefusal(error, context)
    await context.ledger.recordRefusal({
      profileId: profile.profileId,
      stream: due.stream.name,
      window: due.window,
      ...refusal,
    })
    return { counts: { ...noCounts, requests: 1, refused: 1 }, isSuspicious: false }
  }
}

type ReadAndStored = { readonly isUnchanged: boolean; readonly stored: StoreResult; readonly requests: number }

/**
 * When stored records have changed since the window was planned, the answer that they are unchanged says nothing. The reading is
 * not used once it is handed over: its parsed records would live until the commit, and cost the garbage collector the most.
 */
async function readAndStore(profile: PlannedProfile, due: DueWindow, context: PullContext): Promise<ReadAndStored> {
  const { profileId, externalId } = profile
  const { upstream, writer, lane, signal } = context
  const { window, heldTag } = due
  const reading = await upstream.read(due.stream, { profileId, externalId, window, heldTag }, { lane, signal })
  const isUnchanged = reading.unchanged
  const stored = await writer.store({ profileId, ...due, ...reading })
  if (stored.outcome !== 'outdated') return { isUnchanged, stored, requests: 1 }
  const whole = await readAndStore(profile, { ...due, heldTag: undefined }, context)
  return { ...whole, requests: whole.requests + 1 }
}

/** The refusal to record for this window alone. Throws every error that says nothing about the window. */
function recordableRefusal(error: unknown, context: PullContext): { status: number | undefined; reason: string } {
  if (error instanceof Rejected) return { status: error.status, reason: error.message }
  const isOver = error instanceof Unanswered || (error instanceof RetryLater && context.waitsExhausted)
  // A request that we aborted ourselves says nothing about the window.
  if (isOver && context.lastAttempt && !context.signal.aborted) return { status: undefined, reason: error.message }
  throw error
}
