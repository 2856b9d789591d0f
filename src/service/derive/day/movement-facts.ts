import { midnightMs } from '../../../time/local-days.ts'
import { splitAtLocalHours } from '../../../time/local-hours.ts'
import { clip, intersect, overlaps, type Span, subtract, totalMs, union } from '../../../time/spans.ts'
import { HOUR, MINUTE } from '../../../time/units.ts'
import { activeHour, stillness, validDay, wearRules } from '../model/model.ts'
import { roundTo } from '../model/statistics.ts'
import type { MovementFacts } from './facts.ts'
import { intensityMinutes } from './intensity-minutes.ts'
import { type Amount, amountsOn } from './merged-amounts.ts'
import type { MovementInputs } from './movement-inputs.ts'
import { type DataLog, spanOfLog } from './parsed-log.ts'

const summedKinds = ['steps', 'floors_climbed', 'active_energy_burned', 'basal_energy_burned', 'total_energy_burned']
const sampledKinds = ['heart_rate', 'heart_rate_variability_sdnn', 'heart_rate_variability_rmssd', 'oxygen_saturation']

/** The facts of a day's movement and stillness. Null when no log says anything about movement. */
export function movementFacts(inputs: MovementInputs): MovementFacts | null {
  const amounts = new Map(summedKinds.map((kind) => [kind, amountsOn(inputs, kind)]))
  const steps = amounts.get('steps') ?? []
  const { covered: coveredSpans, worn } = knownTime(inputs)
  const hasSteps = steps.length > 0 || inputs.logsByDay.on(inputs.day, 'steps').length > 0
  const hasSession = inputs.sessions.some((session) => overlaps(session, inputs.bounds.span))
  if (!hasSteps && !hasSession && [...amounts.values()].every((kind) => kind.length === 0)) return null
  const total = (kind: string) => totalOf(amounts.get(kind), inputs.logsByDay.on(inputs.day, kind))
  const hourly = stepsByHour(steps)
  const intensity = intensityMinutes(inputs, steps)
  const covered = minutesOf(coveredSpans)
  const wear = minutesOf(worn)
  const awake = wakingTime(inputs)
  const isCovered = covered >= wearRules.coveredMinutesMin
  const activeMinutes = intensity.low + intensity.medium + intensity.high
  const sedentary = Math.max(0, minutesOf(intersect(awake.spans, coveredSpans)) - activeMinutes)
  const stepTotal = total('steps')
  return {
    valid: isValid({ wear, steps: stepTotal, sedentary }),
    steps: stepTotal,
    floors: total('floors_climbed'),
    activeEnergy: total('active_energy_burned'),
    totalEnergy: total('total_energy_burned') ?? addKnown(total('active_energy_burned'), total('basal_energy_burned')),
    restingEnergy: total('basal_energy_burned'),
    activeHours: isCovered ? hoursActive(hourly, intensity.hourly) : null,
    ...(hasSteps || hasSession
      ? { low: roundTo(intensity.low, 3), medium: roundTo(intensity.medium, 3), high: roundTo(intensity.high, 3) }
      : { low: null, medium: null, high: null }),
    sedentary: isCovered ? roundTo(sedentary, 3) : null,
    stillness: isCovered ? stillMinutes(awake.spans, coveredSpans, steps) : null,
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

/** Unknown (null) when no log was sent; zero when only zeros were sent. */
function totalOf(amounts: readonly Amount[] = [], sent: readonly DataLog[] = []): number | null {
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
  for (const { startMs, endMs, value, log } of steps) {
    for (const part of splitAtLocalHours({ startMs, endMs }, log.startOffset)) {
      hourly[part.hour] = (hourly[part.hour] ?? 0) + (value * (part.endMs - part.startMs)) / (endMs - startMs)
    }
  }
  return hourly
}

function hoursActive(steps: readonly number[], intense: readonly number[]): number {
  return steps.filter(
    (count, hour) => count >= activeHour.stepsMin || (intense[hour] ?? 0) >= activeHour.minutesMin - 1e-6,
  ).length
}

/** Spans with any log (covered), and spans whose logs show a body (worn): a phone on the table sends zeros. */
function knownTime({ logsByDay, day, bounds, clusters, sessions }: MovementInputs): { covered: Span[]; worn: Span[] } {
  const quiet: Span[] = []
  const worn: Span[] = [...sessions, ...clusters.flatMap(({ inBed }) => inBed)]
  const isShort = (log: DataLog) => log.endMs - log.startMs <= wearRules.intervalMinutesMax * MINUTE
  const shortLogs = (kind: string) =>
    logsByDay.around(day, kind).filter((log) => overlaps(wornSpanOf(log), bounds.span) && isShort(log))
  for (const log of summedKinds.flatMap(shortLogs)) {
    if (log.value > 0 && log.dataType !== 'basal_energy_burned') worn.push(log)
    else quiet.push(log)
  }
  for (const log of sampledKinds.flatMap(shortLogs)) worn.push(wornSpanOf(log))
  const within = (spans: readonly Span[]) => union(spans.map((span) => clip(span, bounds.span)))
  const wornSpans = within(worn)
  return { worn: wornSpans, covered: union([...wornSpans, ...within(quiet)]) }
}

const wornSpanOf = (log: DataLog) => spanOfLog(log, wearRules.sampleMinutes * MINUTE)

/** The day without the time in bed; where no sleep is known, the usual waking hours, as a guess. */
function wakingTime({ bounds, clusters, day }: MovementInputs): { spans: Span[]; guessed: boolean } {
  const inBed = union(clusters.flatMap((cluster) => cluster.inBed)).filter((span) => overlaps(span, bounds.span))
  if (inBed.length > 0) return { spans: subtract([bounds.span], inBed), guessed: false }
  const [from, to] = wearRules.wakingHours
  const midnight = midnightMs(day, bounds.offset)
  return { spans: [{ startMs: midnight + from * HOUR, endMs: midnight + to * HOUR }], guessed: true }
}

function stillMinutes(awake: readonly Span[], covered: readonly Span[], steps: readonly Amount[]): number {
  const recorded = intersect(awake, union(covered, stillness.gapMinutesMax * MINUTE))
  const bouts = subtract(recorded, union(steps))
  return minutesOf(bouts.filter(({ startMs, endMs }) => endMs - startMs >= stillness.boutMinutesMin * MINUTE))
}

function minutesOf(spans: readonly Span[]): number {
  return roundTo(totalMs(spans) / MINUTE, 3)
}
