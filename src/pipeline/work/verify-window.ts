import { metrics } from '@opentelemetry/api'
import {
  contradictsTag,
  type DifferenceCause,
  differenceCauseOf,
  differenceCauses,
} from '../ledger/difference-cause.ts'
import type { UpstreamAnswer } from '../transfer/reading.ts'
import type { PulledStream } from '../transfer/stream.ts'
import type { Upstream } from '../upstream/client.ts'
import type { CallOptions } from '../upstream/sender.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import type { ReadingWriter } from '../warehouse/readings/reading-writer.ts'
import { compareWithStored, type WindowComparison } from '../warehouse/verification/compare-records.ts'
import { type CoveredWindow, listDrawnWindows, type WindowDraw } from '../warehouse/verification/covered-windows.ts'
import { distrustTags, findTagsAround } from '../warehouse/verification/held-tags.ts'
import {
  countDifferences,
  countVerified,
  type DifferenceCounts,
  isStillCovered,
  markMended,
  recordDifference,
  uncoverWindow,
} from '../warehouse/verification/stored-differences.ts'

type VerifyDeps = {
  readonly pool: Pool
  readonly streams: readonly PulledStream[]
  readonly upstream: Pick<Upstream, 'read'>
  readonly writer: Pick<ReadingWriter, 'store'>
}

type VerifyOptions = {
  readonly options: CallOptions
  /** Un-covers a window that differs, and stores it again. */
  readonly mend: boolean
}

export type Verification = ReturnType<typeof createVerification>

/** Metrics of the drawn sample, for the OpenTelemetry SDK of the process: the same counts as those of `warehouse.verified`. */
export function createVerification(deps: VerifyDeps) {
  const meter = metrics.getMeter('vitalsync.verification')
  const windows = meter.createCounter('vitalsync.verified.windows')
  const records = meter.createCounter('vitalsync.verified.differing_records')
  return {
    /** The covered windows that a draw holds of a profile. */
    listDrawn: (profileId: string, draw: WindowDraw) => listDrawnWindows(deps, draw, profileId),
    verify: (covered: CoveredWindow, options: VerifyOptions) => verifyWindow(covered, { ...deps, ...options }),
    /** Counts a window that chance drew for the measured rate. */
    async count(stream: string, { outcome, causes }: Pick<VerifiedWindow, 'outcome' | 'causes'>) {
      await countVerified(deps.pool, stream, outcome === 'differs')
      windows.add(1, { stream, outcome })
      for (const cause of differenceCauses) if (causes[cause] > 0) records.add(causes[cause], { stream, cause })
    },
  }
}

type VerifyContext = VerifyDeps & VerifyOptions

export type VerifiedWindow = {
  /** `uncovered`: a push or another finding made the window due again meanwhile, so it promises nothing. */
  readonly outcome: 'same' | 'differs' | 'uncovered'
  readonly requests: number
  readonly records: number
  readonly unreadable: number
  readonly counts: DifferenceCounts
  /** How many records differ for which cause. */
  readonly causes: Readonly<Record<DifferenceCause, number>>
  readonly mended: boolean
  /** Records that mending wrote. */
  readonly written: number
}

type Compared = { readonly reading: UpstreamAnswer; readonly comparison: WindowComparison }

/**
 * Reads a covered window again and compares it with the warehouse. A difference is believed when a second reading shows it
 * too: the first may have passed a commit that was under way.
 */
async function verifyWindow(covered: CoveredWindow, context: VerifyContext): Promise<VerifiedWindow> {
  const first = await readAndCompare(covered, context)
  if (first.reading.word === 'pending') return leaveToSweep(covered, context, { ...first, requests: 1 })
  if (first.comparison.differences.length === 0) return toVerified('same', first.comparison, { requests: 1 })
  const second = await readAndCompare(covered, context)
  if (second.reading.word === 'pending') return leaveToSweep(covered, context, { ...second, requests: 2 })
  if (!(await isStillCovered(context.pool, covered))) return toVerified('uncovered', second.comparison, { requests: 2 })
  if (second.comparison.differences.length === 0) return toVerified('same', second.comparison, { requests: 2 })
  return explainDifference(covered, context, second)
}

/** Upstream is recomputing this window. The ledger will learn of a push of ours shortly; for any other cause we un-cover it here. */
async function leaveToSweep(
  covered: CoveredWindow,
  { pool, mend }: VerifyContext,
  { comparison, requests }: Compared & { readonly requests: number },
): Promise<VerifiedWindow> {
  if (mend) await uncoverWindow(pool, covered)
  return toVerified('uncovered', comparison, { requests })
}

/** A record that differs may have been stored meanwhile, with the tag by which upstream is asked: so it is compared once more. */
async function explainDifference(
  covered: CoveredWindow,
  context: VerifyContext,
  { reading }: Compared,
): Promise<VerifiedWindow> {
  const { requests: asked, unchangedUpstream: isSaid } = await askUnchanged(covered, context)
  const comparison = await compareWithStored(context.pool, covered, reading)
  const requests = 2 + asked
  if (comparison.differences.length === 0) return toVerified('same', comparison, { requests })
  const isFalse = isSaid && comparison.differences.some(contradictsTag)
  const verified = toVerified('differs', comparison, { requests, unchangedUpstream: isSaid && !isFalse })
  if (!context.mend) return verified
  if (isFalse) await distrustTags(context.pool, covered)
  return { ...verified, ...(await mend(covered, context, { verified, reading, comparison })) }
}

async function readAndCompare(covered: CoveredWindow, { pool, upstream, options }: VerifyContext): Promise<Compared> {
  const { stream, profileId, externalId, window } = covered
  const reading = await upstream.read(stream, { profileId, externalId, window }, options)
  return { reading, comparison: await compareWithStored(pool, covered, reading) }
}

type Proof = { readonly requests: number; readonly unchangedUpstream: boolean }

/** Asks upstream by the tags of former readings whether anything has changed there. Without tags there is no proof. */
async function askUnchanged(covered: CoveredWindow, { pool, upstream, options }: VerifyContext): Promise<Proof> {
  const { stream, profileId, externalId } = covered
  const held = (await findTagsAround(pool, covered)) ?? []
  for (const [asked, { window, tag }] of held.entries()) {
    const answer = await upstream.read(stream, { profileId, externalId, window, heldTag: tag }, options)
    if (!answer.unchanged || answer.tag !== tag) return { requests: asked + 1, unchangedUpstream: false }
  }
  return { requests: held.length, unchangedUpstream: held.length > 0 }
}

function toVerified(
  outcome: VerifiedWindow['outcome'],
  { differences, ...counts }: WindowComparison,
  { requests, unchangedUpstream = false }: { requests: number; unchangedUpstream?: boolean },
): VerifiedWindow {
  const causes: Record<DifferenceCause, number> = { 'lost-here': 0, 'changed-upstream': 0, 'late-upstream': 0 }
  for (const difference of differences) causes[differenceCauseOf(difference, { unchangedUpstream })] += 1
  return { outcome, requests, ...counts, counts: countDifferences(differences), causes, mended: false, written: 0 }
}

type Mending = Compared & { readonly verified: VerifiedWindow }

/**
 * Stores the window again; the reading takes the same way as every other, so it covers only what it may cover. A change of
 * upstream is left covered until then: the commit that finds it there counts it as a silent difference, and makes similar
 * days due again. A record that was lost here says nothing about upstream, so its window is un-covered before. If the process dies
 * in between, the next sentinel un-covers the window.
 */
async function mend(covered: CoveredWindow, { pool, writer }: VerifyContext, mending: Mending) {
  const { verified, reading } = mending
  const cause = differenceCauses.find((name) => verified.causes[name] > 0) ?? 'late-upstream'
  await recordDifference(pool, covered, { cause, counts: verified.counts })
  if (cause === 'lost-here') await uncoverWindow(pool, covered)
  const { profileId, stream, window, generation } = covered
  const { written } = await writer.store({ profileId, stream, window, generation, ...reading })
  const { differences } = await compareWithStored(pool, covered, reading)
  if (differences.length > 0) await uncoverWindow(pool, covered)
  if (differences.length > 0) return { mended: false, written }
  await markMended(pool, covered)
  return { mended: true, written }
}
