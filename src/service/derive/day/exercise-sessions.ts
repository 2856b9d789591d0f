import { dayNumberAt } from '../../../base/time/local-time.ts'
import { lowerBound } from '../../../base/time/lower-bound.ts'
import type { Span } from '../../../base/time/spans.ts'
import { MINUTE } from '../../../base/time/units.ts'
import type { DayInputs } from './logs-by-day.ts'
import type { DataLog } from './parsed-log.ts'

export type ExerciseSession = Span & { readonly log: DataLog; readonly exercise: string }

const prefix = 'exercise_session_'

/** Sessions around a day, in order. Two logs that overlap are one workout: the better ranked log stays. */
export function sessionsAround({ logsByDay, day, compareLogs, lineage }: DayInputs): ExerciseSession[] {
  const logs = logsByDay
    .dataTypesAround(day, prefix)
    .flatMap((kind) => logsByDay.around(day, kind))
    .filter((log) => log.endMs > log.startMs && log.parentId === null)
    .sort(compareLogs)
  const kept: ExerciseSession[] = []
  for (const log of logs) {
    const index = indexFor(kept, log)
    const isNew = index !== null
    if (isNew) {
      const session = { startMs: log.startMs, endMs: log.endMs, log, exercise: log.dataType.slice(prefix.length) }
      kept.splice(index, 0, session)
    }
    if (!lineage || dayNumberAt(log.startMs, log.startOffset) !== day) continue
    if (isNew) lineage.used(log, 'exercise', (log.endMs - log.startMs) / MINUTE)
    else lineage.leftOut(log, 'exercise', 'the same workout is known from a better ranked log')
  }
  return kept
}

/** The index of a span among the kept sessions, which are sorted and disjoint; null when it overlaps one of them. */
function indexFor(kept: readonly ExerciseSession[], span: Span): number | null {
  const index = lowerBound(kept.length, (other) => (kept[other]?.endMs ?? 0) <= span.startMs)
  const next = kept[index]
  return next === undefined || next.startMs >= span.endMs ? index : null
}
