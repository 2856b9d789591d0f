import { MINUTE, SECOND } from '../../window.ts'
import type { Amount } from './cumulative.ts'
import { type Intensity, type Session, sessionIntensity } from './exercise.ts'
import { ageOn } from './log.ts'
import { cadence } from './model.ts'
import { byHour, type MovementSource } from './movement.ts'
import { minuteSamples, type Sample } from './samples.ts'
import { clip, type Span, subtract, touches, union } from './spans.ts'
import { mean } from './statistics.ts'

/** Minutes of a day by how hard they were; `hourly` holds those of at least medium intensity by local clock hour. */
export type IntensityMinutes = { low: number; medium: number; high: number; hourly: number[] }

/** Shorter than this a log is a count, not a pace. */
const paceSecondsMin = 5

/** By the pace of steps, but within a session by what the session was. */
export function intensityMinutes(source: MovementSource, steps: readonly Amount[]): IntensityMinutes {
  const minutes: IntensityMinutes = { low: 0, medium: 0, high: 0, hourly: Array.from({ length: 24 }, () => 0) }
  const sessions = source.sessions.filter((session) => touches(session, source.clock.span))
  const busy = union(sessions)
  for (const { startAt, endAt, log } of steps) {
    const intensity = paceOf(log)
    if (!intensity) continue
    for (const free of subtract([{ startAt, endAt }], busy))
      add(minutes, intensity, { span: free, offset: log.startOffset })
  }
  const pulse =
    sessions.length > 0 ? minuteSamples(source.shelf.around(source.day, 'heart_rate'), source.sourcePriority) : []
  for (const session of sessions) {
    for (const { span, intensity } of sessionParts(source, session, pulse)) {
      add(minutes, intensity, { span: clip(span, source.clock.span), offset: session.log.startOffset })
    }
  }
  return minutes
}

function paceOf(log: Amount['log']): Intensity | null {
  if (log.endAt - log.startAt < paceSecondsMin * SECOND) return null
  const pace = log.value / ((log.endAt - log.startAt) / MINUTE)
  if (pace >= cadence.high) return 'high'
  if (pace >= cadence.medium) return 'medium'
  return pace >= cadence.low ? 'low' : null
}

/** A session minute by minute where the pulse is known, as a whole where it is not. */
function sessionParts(
  source: MovementSource,
  session: Session,
  pulse: readonly Sample[],
): { span: Span; intensity: Intensity }[] {
  const age = ageOn(source.person, source.day)
  const own = age === null ? [] : samplesWithin(pulse, session)
  if (age === null || own.length === 0) return [{ span: session, intensity: sessionIntensity(session.exercise, null) }]
  const minutes = own.map(({ at, value }) => ({
    span: clip({ startAt: at, endAt: at + MINUTE }, session),
    intensity: sessionIntensity(session.exercise, { rate: value, age }),
  }))
  const rate = mean(own.map(({ value }) => value))
  const rest = subtract([session], union(minutes.map(({ span }) => span)))
  return [...minutes, ...rest.map((span) => ({ span, intensity: sessionIntensity(session.exercise, { rate, age }) }))]
}

function samplesWithin(samples: readonly Sample[], span: Span): readonly Sample[] {
  const from = firstAtOrAfter(samples, span.startAt - MINUTE + 1)
  return samples.slice(from, firstAtOrAfter(samples, span.endAt))
}

function firstAtOrAfter(samples: readonly Sample[], at: number): number {
  let [low, high] = [0, samples.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((samples[middle]?.at ?? 0) < at) low = middle + 1
    else high = middle
  }
  return low
}

function add(minutes: IntensityMinutes, intensity: Intensity, { span, offset }: { span: Span; offset: number }): void {
  if (span.endAt <= span.startAt) return
  minutes[intensity] += (span.endAt - span.startAt) / MINUTE
  if (intensity === 'low') return
  for (const part of byHour(span, offset)) {
    minutes.hourly[part.hour] = (minutes.hourly[part.hour] ?? 0) + (part.endAt - part.startAt) / MINUTE
  }
}
