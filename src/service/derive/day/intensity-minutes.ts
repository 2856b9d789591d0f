import { splitAtLocalHours } from '../../../base/time/local-time.ts'
import { lowerBound } from '../../../base/time/lower-bound.ts'
import { clip, overlaps, type Span, subtract, union } from '../../../base/time/spans.ts'
import { MINUTE, SECOND } from '../../../base/time/units.ts'
import { ageOn } from '../model/demographics.ts'
import { highIntensityExercise, lowIntensityExercise } from '../model/exercise-kinds.ts'
import { cadence, heartZones, stepDetail } from '../model/model.ts'
import { mean } from '../model/statistics.ts'
import type { DayBounds } from './day-bounds.ts'
import type { ExerciseSession } from './exercise-sessions.ts'
import { type MinuteSample, minuteSamples } from './log-ranking.ts'
import type { DayInputs } from './logs-by-day.ts'
import type { Amount } from './merged-amounts.ts'
import type { SleepCluster } from './sleep-clusters.ts'

/** The inputs of one day, with its bounds and the sleep and exercise found around it. */
export type MovementInputs = DayInputs & {
  readonly bounds: DayBounds
  readonly clusters: readonly SleepCluster[]
  readonly sessions: readonly ExerciseSession[]
}

type Intensity = 'low' | 'medium' | 'high'

/**
 * Minutes of a day by intensity; `hourly` holds the minutes of at least medium intensity by local clock hour, and
 * `exerciseLoad` those within exercise sessions, high counted twice.
 */
type IntensityMinutes = { low: number; medium: number; high: number; hourly: number[]; exerciseLoad: number }

/** A shorter log is a count and gives no pace; in a longer one the pace is not the same throughout. */
const paceSecondsMin = 5

/** The intensity follows from the pace of steps, but within an exercise session from the session. */
export function intensityMinutes(inputs: MovementInputs, steps: readonly Amount[]): IntensityMinutes {
  const hourly = Array.from({ length: 24 }, () => 0)
  const minutes: IntensityMinutes = { low: 0, medium: 0, high: 0, hourly, exerciseLoad: 0 }
  const sessions = inputs.sessions.filter((session) => overlaps(session, inputs.bounds.span))
  const inSession = union(sessions)
  for (const { startMs, endMs, log } of steps) {
    const intensity = paceOf(log)
    if (!intensity) continue
    for (const free of subtract([{ startMs, endMs }], inSession))
      addMinutes(minutes, intensity, { span: free, offset: log.startOffset })
  }
  const byPace = minutes.medium + 2 * minutes.high
  const pulse =
    sessions.length > 0 ? minuteSamples(inputs.logsByDay.around(inputs.day, 'heart_rate'), inputs.sourcePriority) : []
  for (const session of sessions) {
    for (const { span, intensity } of sessionParts(inputs, session, pulse)) {
      addMinutes(minutes, intensity, { span: clip(span, inputs.bounds.span), offset: session.log.startOffset })
    }
  }
  return { ...minutes, exerciseLoad: minutes.medium + 2 * minutes.high - byPace }
}

function paceOf(log: Amount['log']): Intensity | null {
  const lengthMs = log.endMs - log.startMs
  if (lengthMs < paceSecondsMin * SECOND || lengthMs > stepDetail.paceMinutesMax * MINUTE) return null
  const pace = log.value / (lengthMs / MINUTE)
  if (pace >= cadence.high) return 'high'
  if (pace >= cadence.medium) return 'medium'
  return pace >= cadence.low ? 'low' : null
}

/** A session minute by minute where the heart rate is known, as a whole where it is not. */
function sessionParts(
  inputs: MovementInputs,
  session: ExerciseSession,
  pulse: readonly MinuteSample[],
): { span: Span; intensity: Intensity }[] {
  const age = ageOn(inputs.demographics, inputs.day)
  const samples = age === null ? [] : samplesWithin(pulse, session)
  if (age === null || samples.length === 0)
    return [{ span: session, intensity: sessionIntensity(session.exercise, null) }]
  const minutes = samples.map(({ atMs, value }) => ({
    span: clip({ startMs: atMs, endMs: atMs + MINUTE }, session),
    intensity: sessionIntensity(session.exercise, { rate: value, age }),
  }))
  const rate = mean(samples.map(({ value }) => value))
  const rest = subtract([session], union(minutes.map(({ span }) => span)))
  return [...minutes, ...rest.map((span) => ({ span, intensity: sessionIntensity(session.exercise, { rate, age }) }))]
}

/** The intensity by heart rate where it and the age are known, else by the kind of exercise. */
function sessionIntensity(exercise: string, pulse: { rate: number; age: number } | null): Intensity {
  if (pulse) {
    const share = pulse.rate / heartZones.maximum(pulse.age)
    if (share >= heartZones.high) return 'high'
    return share >= heartZones.medium ? 'medium' : 'low'
  }
  if (lowIntensityExercise.includes(exercise)) return 'low'
  return highIntensityExercise.includes(exercise) ? 'high' : 'medium'
}

function samplesWithin(samples: readonly MinuteSample[], span: Span): readonly MinuteSample[] {
  const from = firstAtOrAfter(samples, span.startMs - MINUTE + 1)
  return samples.slice(from, firstAtOrAfter(samples, span.endMs))
}

function firstAtOrAfter(samples: readonly MinuteSample[], ms: number): number {
  return lowerBound(samples.length, (index) => (samples[index]?.atMs ?? 0) < ms)
}

function addMinutes(
  minutes: IntensityMinutes,
  intensity: Intensity,
  { span, offset }: { span: Span; offset: number },
): void {
  if (span.endMs <= span.startMs) return
  minutes[intensity] += (span.endMs - span.startMs) / MINUTE
  if (intensity === 'low') return
  for (const part of splitAtLocalHours(span, offset)) {
    minutes.hourly[part.hour] = (minutes.hourly[part.hour] ?? 0) + (part.endMs - part.startMs) / MINUTE
  }
}
