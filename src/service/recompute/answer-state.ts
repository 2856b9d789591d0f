import type { DerivationState, DerivedKind } from '../../base/contract/derivation-state.ts'
import { dayNumberAt, dayNumberFromText } from '../../base/time/local-time.ts'
import { DAY } from '../../base/time/units.ts'
import type { DerivationProgress } from '../store/derivation-progress.ts'
import type { ClosedRange } from '../store/derived-reader.ts'
import { daysReachedByKind } from './reach.ts'

type Asked = { kind: DerivedKind; range: ClosedRange; nowMs: number }

/**
 * Whether an answer is complete for its range: `pending` while a change that was acknowledged may still change a record of
 * the kind in the range, because its day waits for derivation, because time has passed over a period, or because
 * all records are due. It may say `pending` of a range that will not change, never `finished` of a range that will.
 */
export function answerState(progress: DerivationProgress, asked: Asked): DerivationState {
  const { firstMarkedDay, lastMarkedDay, dueAtMs, asOfMs } = progress
  if (progress.isOutdated) return 'pending'
  if (firstMarkedDay !== null && lastMarkedDay !== null) {
    const days = { firstDay: dayNumberFromText(firstMarkedDay), lastDay: dayNumberFromText(lastMarkedDay) }
    if (touches(asked, daysReachedByKind(asked.kind, days))) return 'pending'
  }
  if (dueAtMs === null || dueAtMs > asked.nowMs) return 'finished'
  const firstDay = dayNumberAt(Math.min(asOfMs ?? Number.NEGATIVE_INFINITY, asked.nowMs), 0)
  const passed = daysReachedByKind(asked.kind, { firstDay, lastDay: Number.POSITIVE_INFINITY })
  return touches(asked, passed) ? 'pending' : 'finished'
}

function touches({ range }: Asked, { first, last }: { first: number; last: number }): boolean {
  const firstMs = range.firstAt?.getTime() ?? Number.NEGATIVE_INFINITY
  const lastMs = range.lastAt?.getTime() ?? Number.POSITIVE_INFINITY
  return lastMs >= first * DAY && firstMs < (last + 1) * DAY
}
