import { contains, type Span } from '../../base/time/spans.ts'
import { DAY, HOUR, MINUTE } from '../../base/time/units.ts'
import type { AwaitingPart } from './awaiting-upstream.ts'

/*
 * Lateness: how long after its cause upstream still added or changed a record. The cause is the end of the record's period,
 * or the newest push that touches it, if that was later. A reading gives no instant: the change came at some time since the
 * reading before it. The upper end counts, so every lateness is too large rather than too small.
 */

/** A factor of 1.19 from bin to bin: a minute is bin 0, and 64 days are the last. */
const BINS_PER_DOUBLING = 4
export const LATENESS_BINS = 68

/** Bin 0 is up to a minute, and everything beyond 64 days is in the last bin. */
export function latenessBin(ms: number): number {
  if (ms <= MINUTE) return 0
  return Math.min(LATENESS_BINS - 1, Math.ceil(Math.log2(ms / MINUTE) * BINS_PER_DOUBLING))
}

/** The longest lateness of a bin. */
export const latenessOfBin = (bin: number): number => MINUTE * 2 ** (bin / BINS_PER_DOUBLING)

/** A reading that comes later after the one before it bounds nothing closely, as after an outage: it is not counted. */
const SPACING_MAX_MS = 30 * HOUR

/** How far a request may be sent after its plan, by which the reading before may have asked for less. */
const PLANNED_TO_SENT_MAX_MS = HOUR

export type LatenessContext = {
  readonly sentAtMs: number
  /** When the reading before this one was sent. */
  readonly formerAtMs: number
  readonly settleMs: number
  /** The part of the window that was covered before the reading. */
  readonly covered: readonly Span[]
  /** The spans that were awaiting before the reading. */
  readonly awaiting: readonly AwaitingPart[]
}

/**
 * The evidence of a reading about a record that ends at `endMs`. `fromBin`, exclusive, to `toBin`: the record was watched over these
 * bins, and a change of it belongs to the last of them. `isSilent`: its day had been called covered.
 */
export type WatchedBins = { readonly fromBin: number; readonly toBin: number; readonly isSilent: boolean }

/** Undefined where the reading bounds nothing: for spans that were never read before, or lie in the future. */
export function watchedBins(endMs: number, context: LatenessContext): WatchedBins | undefined {
  const { sentAtMs, formerAtMs, settleMs, covered, awaiting } = context
  const part = awaiting.find(({ startMs, endMs: partEndMs }) => startMs <= endMs && endMs < partEndMs)
  if (contains(covered, endMs) || part?.isSuspect) {
    const toBin = latenessBin(sentAtMs - endMs)
    return { fromBin: toBin - 1, toBin, isSilent: true }
  }
  const causeMs = part?.touchedAtMs ?? endMs // a part ends before the push that touched it
  const watchedSinceMs = part ? (part.readAtMs ?? causeMs) : formerAtMs
  const wasRead = part !== undefined || endMs >= formerAtMs - settleMs - PLANNED_TO_SENT_MAX_MS
  const sinceMs = Math.max(watchedSinceMs, causeMs)
  if (!wasRead || sentAtMs < causeMs || sentAtMs - sinceMs > SPACING_MAX_MS) return undefined
  const fromBin = sinceMs > causeMs ? latenessBin(sinceMs - causeMs) : -1
  return { fromBin, toBin: latenessBin(sentAtMs - causeMs), isSilent: false }
}

/** Counts of one stream, by bin. */
export type LatenessCounts = { readonly seen: number[]; readonly came: number[]; readonly changed: number[] }

export const noLatenessCounts = (): LatenessCounts => ({
  seen: new Array(LATENESS_BINS).fill(0),
  came: new Array(LATENESS_BINS).fill(0),
  changed: new Array(LATENESS_BINS).fill(0),
})

/** Adds what a reading shows to the counts. Gives the ends of the records that changed after their day was called covered. */
export function countLateness(
  counts: LatenessCounts,
  /** The ends of the records of one reading. `came` and `changed` are among `seen`, or were until now. */
  ends: Readonly<Record<'seen' | 'came' | 'changed', Iterable<number>>>,
  context: LatenessContext,
): number[] {
  // Records that follow each other often share their end: those of one day.
  let lastEndMs = Number.NaN
  let last: WatchedBins | undefined
  const binsOf = (endMs: number) => {
    if (endMs === lastEndMs) return last
    lastEndMs = endMs
    last = watchedBins(endMs, context)
    return last
  }
  for (const endMs of ends.seen) {
    const bins = binsOf(endMs)
    for (let bin = (bins?.fromBin ?? 0) + 1; bins && bin <= bins.toBin; bin += 1) increment(counts.seen, bin)
  }
  const silent: number[] = []
  for (const [kind, changedEnds] of [['came', ends.came] as const, ['changed', ends.changed] as const]) {
    for (const endMs of changedEnds) {
      const bins = binsOf(endMs)
      if (!bins) continue
      increment(counts[kind], bins.toBin)
      if (bins.isSilent) silent.push(endMs)
    }
  }
  return silent
}

function increment(counts: number[], bin: number): void {
  counts[bin] = (counts[bin] ?? 0) + 1
}

/** The days around a silent difference are read again, because what was late for one day was often late for its neighbours. */
const SIMILAR_MS = 7 * DAY

/** The days of the same profile and stream that are as suspect as the one where a silent difference was found. */
export const similarDays = (silentEndsMs: readonly number[]): Span[] =>
  silentEndsMs.map((endMs) => ({ startMs: endMs - SIMILAR_MS, endMs: endMs + SIMILAR_MS }))
