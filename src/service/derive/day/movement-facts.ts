import { midnightMs, splitAtLocalHours } from '../../../base/time/local-time.ts'
import { clip, intersect, overlaps, type Span, subtract, totalMs, union } from '../../../base/time/spans.ts'
import { HOUR, MINUTE } from '../../../base/time/units.ts'
import {
  activeHour,
  activeMinuteKinds,
  stepDetail,
  stillness,
  validDay,
  wearRules,
  zoneMinuteKind,
} from '../model/model.ts'
import { roundTo, sum } from '../model/statistics.ts'
import type { MovementFacts } from './facts.ts'
import { intensityMinutes, type MovementInputs } from './intensity-minutes.ts'
import { type Amount, amountsOn } from './merged-amounts.ts'
import { type DataLog, spanOfLog } from './parsed-log.ts'

const minuteKinds = [...activeMinuteKinds, zoneMinuteKind]
const energyKinds = ['active_energy_burned', 'basal_energy_burned', 'total_energy_burned']
const otherSummedKinds = ['floors_climbed', ...energyKinds, ...minuteKinds]
const sampledKinds = ['heart_rate', 'heart_rate_variability_sdnn', 'heart_rate_variability_rmssd', 'oxygen_saturation']

/** The facts of a day's movement and stillness. Null when no log says anything about movement. */
export function movementFacts(inputs: MovementInputs, steps: readonly Amount[]): MovementFacts | null {
  const amounts = new Map(otherSummedKinds.map((kind): [string, readonly Amount[]] => [kind, amountsOn(inputs, kind)]))
  amounts.set('steps', steps)
  const { covered: coveredSpans, worn } = knownTime(inputs)
  const sentSteps = inputs.logsByDay.on(inputs.day, 'steps')
  const hasSession = inputs.sessions.some((session) => overlaps(session, inputs.bounds.span))
  if (sentSteps.length === 0 && !hasSession && [...amounts.values()].every((kind) => kind.length === 0)) return null
  const total = (kind: string) => totalOf(amounts.get(kind), inputs.logsByDay.on(inputs.day, kind))
  const intensity = intensityMinutes(inputs, steps)
  const detail = stepDetailOf(steps, { sent: sentSteps, sessions: inputs.sessions })
  const hourly = detail.hours ? stepsByHour(steps) : null
  const [covered, wear] = [minutesOf(coveredSpans), minutesOf(worn)]
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
    activeHours: isCovered && hourly ? hoursActive(hourly, intensity.hourly) : null,
    ...levelsOf(detail.pace ? intensity : null),
    intense: intenseMinutesOf(intensity, { hasPace: detail.pace, countedBy: total }),
    exerciseLoad: roundTo(intensity.exerciseLoad, 3),
    sedentary: isCovered && detail.pace ? roundTo(sedentary, 3) : null,
    stillness: isCovered && hourly ? stillMinutes(awake.spans, coveredSpans, steps) : null,
    hourly: hourly?.map((count) => roundTo(count, 3)) ?? null,
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

type Minutes = ReturnType<typeof intensityMinutes>

function levelsOf(known: Minutes | null): Pick<MovementFacts, 'low' | 'medium' | 'high'> {
  if (!known) return { low: null, medium: null, high: null }
  return { low: roundTo(known.low, 3), medium: roundTo(known.medium, 3), high: roundTo(known.high, 3) }
}

/**
 * Intense minutes by pace and sessions, or by the device's own count where that is larger: devices count by heart rate
 * too. A device's minutes are at least of medium intensity, and those known as high count a second time.
 */
function intenseMinutesOf(
  { medium, high }: Minutes,
  { hasPace, countedBy }: { hasPace: boolean; countedBy: (kind: string) => number | null },
): number | null {
  const counted = activeMinuteKinds.flatMap((kind) => countedBy(kind) ?? [])
  const zones = countedBy(zoneMinuteKind)
  const known = [
    ...(hasPace ? [medium + 2 * high] : []),
    ...counted.map((minutes) => Math.max(minutes, medium + high) + high),
    ...(zones === null ? [] : [zones]),
  ]
  return known.length === 0 ? null : roundTo(Math.max(...known), 3)
}

/** Whether at least half of the steps come with a pace (or from a session), and at least half with their hour. */
function stepDetailOf(
  steps: readonly Amount[],
  { sent, sessions }: { sent: readonly DataLog[]; sessions: readonly Span[] },
): { pace: boolean; hours: boolean } {
  if (steps.length === 0) return { pace: sent.length > 0, hours: sent.length > 0 }
  const all = sum(steps.map(({ value }) => value))
  const isWithin = ({ log }: Amount, minutesMax: number) => log.endMs - log.startMs <= minutesMax * MINUTE
  const shareOf = (isKnown: (amount: Amount) => boolean) => sum(steps.filter(isKnown).map(({ value }) => value)) / all
  const inSession = (amount: Amount) => sessions.some((session) => overlaps(session, amount))
  const { paceMinutesMax, hourMinutesMax, shareMin } = stepDetail
  return {
    pace: shareOf((amount) => isWithin(amount, paceMinutesMax) || inSession(amount)) >= shareMin,
    hours: shareOf((amount) => isWithin(amount, hourMinutesMax)) >= shareMin,
  }
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
  for (const log of ['steps', ...otherSummedKinds].flatMap(shortLogs)) {
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
