import { intersect, type Span, subtract, union } from '../../base/time/spans.ts'
import { HOUR } from '../../base/time/units.ts'

/** Why a wanted span is not covered. */
export const gapReasons = ['never-asked', 'refused', 'unsettled', 'waiting'] as const
export type GapReason = (typeof gapReasons)[number]

export type Gap = Span & {
  readonly reason: GapReason
  readonly detail: string | null
  readonly nextTryAtMs: number | null
}

export type KnownCoverage = {
  readonly wanted: Span
  readonly covered: readonly Span[]
  /** The spans that upstream may still derive again after a push, and the instant of the next reading that counts. */
  readonly awaiting: readonly Span[]
  readonly readAgainAtMs: number | null
  /** When they can settle without a `derivation-state`: the settle time after the newest push. Null: no push touched them. */
  readonly settlesAtMs: number | null
  readonly refused: ReadonlyArray<Span & { reason: string; nextTryAtMs: number | null }>
  readonly readAtMs: number | null
  readonly settleMs: number
}

/** A reading covers at most up to the instant of its plan. Its request may have been sent this much later. */
const PLANNED_TO_SENT_MAX_MS = HOUR

/** Every wanted span that is not covered, each with the first reason that matches, oldest first. */
export function findGaps(known: KnownCoverage): Gap[] {
  let left = subtract([known.wanted], union(known.covered))
  const gaps: Gap[] = []
  const explain = (spans: readonly Span[], reason: Pick<Gap, 'reason' | 'detail' | 'nextTryAtMs'>) => {
    const explained = union(spans)
    for (const span of intersect(left, explained)) gaps.push({ ...span, ...reason })
    left = subtract(left, explained)
  }
  for (const { startMs, endMs, reason, nextTryAtMs } of known.refused) {
    explain([{ startMs, endMs }], { reason: 'refused', detail: reason, nextTryAtMs })
  }
  explain(known.awaiting, {
    reason: 'waiting',
    detail: waitingDetail(known.settlesAtMs),
    nextTryAtMs: known.readAgainAtMs,
  })
  if (known.readAtMs !== null) {
    const settledUntilMs = known.readAtMs - known.settleMs - PLANNED_TO_SENT_MAX_MS
    explain([{ startMs: settledUntilMs, endMs: Number.POSITIVE_INFINITY }], {
      reason: 'unsettled',
      detail: null,
      nextTryAtMs: null,
    })
  }
  explain(left, { reason: 'never-asked', detail: null, nextTryAtMs: null })
  return gaps.sort((a, b) => a.startMs - b.startMs)
}

/** The next reading alone settles nothing: two have to agree, and the push has to be as old as the settle time. */
const waitingDetail = (settlesAtMs: number | null): string | null =>
  settlesAtMs === null
    ? null
    : `settles from ${new Date(settlesAtMs).toISOString().slice(0, 16).replace('T', ' ')} on, sooner if upstream says that it has derived`
