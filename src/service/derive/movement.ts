import { HOUR, MINUTE } from '../../window.ts'
import { type Amount, amountsOn } from './cumulative.ts'
import type { DayClock } from './day-clock.ts'
import type { DaySource } from './day-source.ts'
import type { Session } from './exercise.ts'
import type { MovementFacts } from './facts.ts'
import { intensityMinutes } from './intensity.ts'
import { clockAt, midnightAt } from './local-time.ts'
import type { Log } from './log.ts'
import { activeHour, coverage, stillness, validDay } from './model.ts'
import type { SleepCluster } from './sleep-clusters.ts'
import { clip, intersect, type Span, subtract, totalMs, touches, union } from './spans.ts'
import { roundTo } from './statistics.ts'

export type MovementSource = DaySource & {
  readonly clock: DayClock
  readonly clusters: readonly SleepCluster[]
  readonly sessions: readonly Session[]
}

const summedKinds = ['steps', 'floors_climbed', 'active_energy_burned', 'basal_energy_burned', 'total_energy_burned']
const sampledKinds = ['heart_rate', 'heart_rate_variability_sdnn', 'heart_rate_variability_rmssd', 'oxygen_saturation']

/** How a day was spent awake. Null when nothing that was recorded tells of it. */
export function movementFacts(source: MovementSource): MovementFacts | null {
  const amounts = new Map(summedKinds.map((kind) => [kind, amountsOn(source, kind)]))
  const steps = amounts.get('steps') ?? []
  const known = knownTime(source)
  const hasSteps = steps.length > 0 || source.shelf.on(source.day, 'steps').length > 0
  const hasSession = source.sessions.some((session) => touches(session, source.clock.span))
  if (!hasSteps && !hasSession && [...amounts.values()].every((kind) => kind.length === 0)) return null
  const total = (kind: string) => totalOf(amounts.get(kind), source.shelf.on(source.day, kind))
  const hourly = stepsByHour(steps)
  const intensity = intensityMinutes(source, steps)
  const covered = minutesOf(known.covered)
  const wear = minutesOf(known.worn)
  const awake = wakingTime(source)
  const judged = covered >= coverage.coveredMinutesMin
  const activeMinutes = intensity.low + intensity.medium + intensity.high
  const sedentary = Math.max(0, minutesOf(intersect(awake.spans, known.covered)) - activeMinutes)
  const stepTotal = total('steps')
  return {
    valid: isValid({ wear, steps: stepTotal, sedentary }),
    steps: stepTotal,
    floors: total('floors_climbed'),
    activeEnergy: total('active_energy_burned'),
    totalEnergy: total('total_energy_burned') ?? addKnown(total('active_energy_burned'), total('basal_energy_burned')),
    restingEnergy: total('basal_energy_burned'),
    activeHours: judged ? hoursActive(hourly, intensity.hourly) : null,
    ...(hasSteps || hasSession
      ? { low: roundTo(intensity.low, 3), medium: roundTo(intensity.medium, 3), high: roundTo(intensity.high, 3) }
      : { low: null, medium: null, high: null }),
    sedentary: judged ? roundTo(sedentary, 3) : null,
    stillness: judged ? stillMinutes(awake.spans, known.covered, steps) : null,
    hourly: hourly.map((count) => roundTo(count, 3)),
    wear,
    covered,
    wakingGuessed: awake.guessed,
  }
}

function isValid({ wear, steps, sedentary }: { wear: number; steps: number | null; sedentary: number }): boolean {
  if (wear >= validDay.wearMinutesMin) return true
  return (steps ?? 0) >= validDay.stepsMin && sedentary < validDay.sedentaryMinutesMax
}

/** Nothing sent is not known; only zeros sent is zero. */
function totalOf(amounts: readonly Amount[] = [], sent: readonly Log[] = []): number | null {
  if (amounts.length === 0) return sent.length > 0 ? 0 : null
  return roundTo(
    amounts.reduce((sum, { value }) => sum + value, 0),
    3,
  )
}

function addKnown(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : roundTo(a + b, 3)
}

function stepsByHour(steps: readonly Amount[]): number[] {
  const hourly = Array.from({ length: 24 }, () => 0)
  for (const { startAt, endAt, value, log } of steps) {
    for (const part of byHour({ startAt, endAt }, log.startOffset)) {
      hourly[part.hour] = (hourly[part.hour] ?? 0) + (value * (part.endAt - part.startAt)) / (endAt - startAt)
    }
  }
  return hourly
}

/** A stretch cut at the full hours of a local clock. */
export function byHour(span: Span, offset: number): (Span & { hour: number })[] {
  const parts: (Span & { hour: number })[] = []
  for (let startAt = span.startAt; startAt < span.endAt; ) {
    const hour = Math.floor(clockAt(startAt, offset) / 60)
    const endAt = Math.min(span.endAt, (Math.floor((startAt + offset * MINUTE) / HOUR) + 1) * HOUR - offset * MINUTE)
    parts.push({ startAt, endAt, hour })
    startAt = endAt
  }
  return parts
}

function hoursActive(steps: readonly number[], intense: readonly number[]): number {
  return steps.filter(
    (count, hour) => count >= activeHour.stepsMin || (intense[hour] ?? 0) >= activeHour.minutesMin - 1e-6,
  ).length
}

/** When the record speaks at all (covered), and when it shows a body (worn): a phone on the table sends zeros. */
function knownTime({ shelf, day, clock, clusters, sessions }: MovementSource): { covered: Span[]; worn: Span[] } {
  const quiet: Span[] = []
  const worn: Span[] = [...sessions, ...clusters.flatMap(({ inBed }) => inBed)]
  const near = (kind: string) => shelf.around(day, kind).filter((log) => touches(asSpan(log), clock.span))
  for (const log of summedKinds.flatMap(near)) {
    if (log.endAt - log.startAt > coverage.intervalMinutesMax * MINUTE) continue
    ;(log.value > 0 && log.dataType !== 'basal_energy_burned' ? worn : quiet).push(log)
  }
  for (const log of sampledKinds.flatMap(near)) {
    if (log.endAt - log.startAt <= coverage.intervalMinutesMax * MINUTE) worn.push(asSpan(log))
  }
  const within = (spans: readonly Span[]) => union(spans.map((span) => clip(span, clock.span)))
  const wornSpans = within(worn)
  return { worn: wornSpans, covered: union([...wornSpans, ...within(quiet)]) }
}

function asSpan(log: Log): Span {
  return { startAt: log.startAt, endAt: Math.max(log.endAt, log.startAt + coverage.sampleMinutes * MINUTE) }
}

function wakingTime({ clock, clusters, day }: MovementSource): { spans: Span[]; guessed: boolean } {
  const lying = union(clusters.flatMap(({ inBed }) => inBed)).filter((span) => touches(span, clock.span))
  if (lying.length > 0) return { spans: subtract([clock.span], lying), guessed: false }
  const [from, to] = coverage.wakingHours
  const midnight = midnightAt(day, clock.offset)
  return { spans: [{ startAt: midnight + from * HOUR, endAt: midnight + to * HOUR }], guessed: true }
}

function stillMinutes(awake: readonly Span[], covered: readonly Span[], steps: readonly Amount[]): number {
  const watched = intersect(awake, union(covered, stillness.gapMinutesMax * MINUTE))
  const bouts = subtract(watched, union(steps))
  return minutesOf(bouts.filter(({ startAt, endAt }) => endAt - startAt >= stillness.boutMinutesMin * MINUTE))
}

function minutesOf(spans: readonly Span[]): number {
  return roundTo(totalMs(spans) / MINUTE, 3)
}
