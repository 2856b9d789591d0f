import { intersect, type Span, subtract } from './coverage.ts'
import { HOUR } from './window.ts'

/** Why a span that is wanted is not covered. */
export const gapReasons = ['never-asked', 'refused', 'unsettled', 'waiting'] as const
export type GapReason = (typeof gapReasons)[number]

export type Gap = Span & {
  readonly reason: GapReason
  readonly detail: string | null
  readonly nextTryMs: number | null
}

export type Known = {
  readonly wanted: Span
  readonly covered: readonly Span[]
  /** What upstream may still be deriving from, and until when it is given time. */
  readonly digesting: readonly Span[]
  readonly digestedAtMs: number | null
  readonly refused: ReadonlyArray<Span & { reason: string; nextTryMs: number | null }>
  readonly readAtMs: number | null
  readonly settleMs: number
}

/** A reading covers up to the instant it was planned at the most, and may have been sent up to this much later. */
const ON_ITS_WAY_MS = HOUR

/** Every wanted span that is not covered, each with its first matching reason, oldest first. Together they are the hole. */
export function gapsOf(known: Known): Gap[] {
  let left = subtract([known.wanted], known.covered)
  const gaps: Gap[] = []
  const take = (spans: readonly Span[], reason: GapReason, more: Partial<Pick<Gap, 'detail' | 'nextTryMs'>> = {}) => {
    for (const span of intersect(left, spans)) gaps.push({ ...span, reason, detail: null, nextTryMs: null, ...more })
    left = subtract(left, spans)
  }
  for (const { reason, nextTryMs, ...span } of known.refused) take([span], 'refused', { detail: reason, nextTryMs })
  take(known.digesting, 'waiting', { nextTryMs: known.digestedAtMs })
  if (known.readAtMs !== null) {
    take([{ from: known.readAtMs - known.settleMs - ON_ITS_WAY_MS, to: Number.POSITIVE_INFINITY }], 'unsettled')
  }
  take([{ from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY }], 'never-asked')
  return gaps.sort((a, b) => a.from - b.from)
}
