import { NotThere, Rejected, RetryLater, Unanswered } from './errors.ts'
import { add, type Counts, type JobContext, nothing } from './job.ts'
import type { Stored } from './warehouse/commit.ts'
import type { DueWindow, PlannedProfile } from './warehouse/ledger.ts'
import { windowOf } from './window.ts'

type Pulling = Pick<
  JobContext,
  'upstream' | 'ledger' | 'writer' | 'signal' | 'lane' | 'lastAttempt' | 'waitsOver' | 'settings'
>

/**
 * Reads the due windows of one profile, a few at a time, and stores each as it comes. A window that upstream refuses is
 * written down with the reason and blocks nothing. A failure that may pass is thrown, but only after the others are
 * done: what could be read is kept.
 */
export async function pullDue(profile: PlannedProfile, due: readonly DueWindow[], context: Pulling): Promise<Counts> {
  const left = [...due]
  let counts = nothing
  const failures: unknown[] = []
  const worker = async () => {
    for (let window = left.shift(); window && !isHopeless(failures); window = left.shift()) {
      try {
        const one = await pullWindow(profile, window, context)
        counts = add(counts, one)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(context.settings.windowsAtOnce, due.length) }, worker))
  if (failures.length > 0) throw mostTelling(failures)
  return counts
}

/** When upstream asks us to wait, or does not know the person, the other windows would hear the same. */
const isHopeless = (failures: readonly unknown[]) =>
  failures.some((error) => !(error instanceof Unanswered) && !(error instanceof Rejected))

const mostTelling = (failures: readonly unknown[]): unknown =>
  failures.find((error) => error instanceof NotThere) ??
  failures.find((error) => !(error instanceof RetryLater) && !(error instanceof Unanswered)) ??
  failures.find((error) => error instanceof RetryLater) ??
  failures[0]

async function pullWindow(profile: PlannedProfile, due: DueWindow, context: Pulling): Promise<Counts> {
  try {
    const stored = await readAndStore(profile, due, context)
    return { ...nothing, requests: 1, rowsRead: stored.read, rowsWritten: stored.written, refused: stored.odd }
  } catch (error) {
    const reason = refusalOf(error, context)
    await context.ledger.refuse({
      profileId: profile.profileId,
      stream: due.stream.name,
      window: due.window,
      ...reason,
    })
    return { ...nothing, requests: 1, refused: 1 }
  }
}

async function readAndStore(
  { profileId, externalId }: PlannedProfile,
  { stream, window, generation }: DueWindow,
  { upstream, writer, lane, signal }: Pulling,
): Promise<Stored> {
  const target = { profileId, externalId, window: windowOf(window.from, window.to) }
  const reading = await upstream.read(stream, target, { lane, signal })
  return writer.store({
    stream,
    profileId,
    window,
    generation,
    sentAtMs: reading.sentAt.getTime(),
    serverAtMs: reading.serverDate?.getTime(),
    records: reading.records,
    odd: reading.odd,
  })
}

/** What is written down as this window's own trouble; everything else is thrown. */
function refusalOf(error: unknown, context: Pulling): { status: number | undefined; reason: string } {
  if (error instanceof Rejected) return { status: error.status, reason: error.message }
  // Given up by ourselves says nothing about the window.
  const isOver = error instanceof Unanswered || (error instanceof RetryLater && context.waitsOver)
  if (isOver && context.lastAttempt && !context.signal.aborted) return { status: undefined, reason: error.message }
  throw error
}
