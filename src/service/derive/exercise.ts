import { MINUTE } from '../../window.ts'
import { highIntensityExercise, lowIntensityExercise } from './archetype-model.ts'
import type { DaySource } from './day-source.ts'
import { dayAt } from './local-time.ts'
import type { Log } from './log.ts'
import { heartZones } from './model.ts'
import type { Span } from './spans.ts'

export type Intensity = 'low' | 'medium' | 'high'
export type Session = Span & { readonly log: Log; readonly exercise: string }

const prefix = 'exercise_session_'

/** Sessions around a day. Two records that overlap are one workout: the better ranked one stays. */
export function sessionsAround({ shelf, day, better, trace }: DaySource): Session[] {
  const logs = shelf
    .kindsAround(day, prefix)
    .flatMap((kind) => shelf.around(day, kind))
    .filter((log) => log.endAt > log.startAt && log.parentId === null)
    .sort(better)
  const kept: Session[] = []
  for (const log of logs) {
    const place = placeFor(kept, log)
    const fresh = place !== null
    if (fresh) {
      const session = { startAt: log.startAt, endAt: log.endAt, log, exercise: log.dataType.slice(prefix.length) }
      kept.splice(place, 0, session)
    }
    if (!trace || dayAt(log.startAt, log.startOffset) !== day) continue
    if (fresh) trace.used(log, 'exercise', (log.endAt - log.startAt) / MINUTE)
    else trace.left(log, 'exercise', 'the same workout is known from a better ranked log')
  }
  return kept
}

/** Where a session belongs among sorted, disjoint ones; null when it overlaps one of them. */
function placeFor(kept: readonly Session[], span: Span): number | null {
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((kept[middle]?.endAt ?? 0) <= span.startAt) low = middle + 1
    else high = middle
  }
  const next = kept[low]
  return next === undefined || next.startAt >= span.endAt ? low : null
}

/** By heart rate where it is known (with the age to judge it by), else by the kind of exercise. */
export function sessionIntensity(exercise: string, pulse: { rate: number; age: number } | null): Intensity {
  if (pulse) {
    const share = pulse.rate / heartZones.maximum(pulse.age)
    if (share >= heartZones.high) return 'high'
    return share >= heartZones.medium ? 'medium' : 'low'
  }
  if (lowIntensityExercise.includes(exercise)) return 'low'
  return highIntensityExercise.includes(exercise) ? 'high' : 'medium'
}
