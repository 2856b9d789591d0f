import { MINUTE } from '../../window.ts'
import type { Measure, NightFacts } from './facts.ts'
import { midnightAt } from './local-time.ts'
import { sleepRules } from './model.ts'
import type { SleepCluster, Stage } from './sleep-clusters.ts'
import { type Span, totalMs, union } from './spans.ts'
import { roundTo } from './statistics.ts'

const minutes = (spans: readonly Span[]) => roundTo(totalMs(spans) / MINUTE, 3)

/** The longest sleep of at least three hours among those that belong to a day. The others are naps. */
export function mainSleep(clusters: readonly SleepCluster[], day: number): SleepCluster | null {
  const own = clusters.filter(({ wakeDay }) => wakeDay === day)
  const longest = own.reduce<SleepCluster | null>(
    (best, cluster) => (best && asleepMinutes(best) >= asleepMinutes(cluster) ? best : cluster),
    null,
  )
  return longest && asleepMinutes(longest) >= sleepRules.mainMinutesMin ? longest : null
}

function asleepMinutes(cluster: SleepCluster): number {
  return minutes(cluster.asleep) * (cluster.estimated ? sleepRules.asleepShareOfInBed : 1)
}

/** What is known of a night, or null where nobody slept, or slept less or longer than a record can be right about. */
export function nightFacts(clusters: readonly SleepCluster[], day: number): NightFacts | null {
  const main = mainSleep(clusters, day)
  const [shortest, longest] = sleepRules.durationMinutes
  if (!main || asleepMinutes(main) < shortest || asleepMinutes(main) > longest) return null
  const [onset, wake] = [main.asleep[0], main.asleep.at(-1)]
  if (!onset || !wake) return null
  const bouts = awakeBouts(main, { startAt: onset.startAt, endAt: wake.endAt })
  const measured = main.hasStages || main.hasAwake
  const inBed = main.hasInBed || main.hasAwake ? minutes(main.inBed) : null
  const stage = (name: Stage) => (main.hasStages ? minutes(main.stages.filter((one) => one.stage === name)) : null)
  return {
    offset: main.offset,
    onsetAt: onset.startAt,
    wakeAt: wake.endAt,
    duration: roundTo(asleepMinutes(main), 3),
    inBed,
    awake: measured ? minutes(main.stages.filter((one) => one.stage === 'awake' || one.stage === 'out_of_bed')) : null,
    light: stage('light'),
    deep: stage('deep'),
    rem: stage('rem'),
    latency: main.hasInBed && !main.estimated ? roundTo((onset.startAt - main.span.startAt) / MINUTE, 3) : null,
    interruptions: measured ? bouts.length : null,
    awakeAfterOnset: measured ? minutes(bouts) : null,
    efficiency: inBed && !main.estimated ? roundTo(asleepMinutes(main) / inBed, 4) : null,
    estimated: main.estimated,
  }
}

/** All sleep of a day that is not its night. */
export function napsOf(clusters: readonly SleepCluster[], day: number): Measure | null {
  const main = mainSleep(clusters, day)
  const naps = clusters.filter((cluster) => cluster.wakeDay === day && cluster !== main)
  const asleep = naps.reduce((total, nap) => total + asleepMinutes(nap), 0)
  if (asleep <= 0) return null
  return { value: roundTo(asleep, 3), ...(naps.some(({ estimated }) => estimated) ? { estimated: true } : {}) }
}

/** Recorded wakefulness between falling asleep and getting up, in bouts long enough to be remembered. */
function awakeBouts(cluster: SleepCluster, within: Span): Span[] {
  const awake = cluster.stages.filter(({ stage }) => stage === 'awake' || stage === 'out_of_bed')
  return union(awake).filter(
    ({ startAt, endAt }) =>
      startAt >= within.startAt && endAt <= within.endAt && endAt - startAt >= sleepRules.awakeBoutMinutesMin * MINUTE,
  )
}

/** When the person was asleep between 18:00 and 18:00, in minutes of that stretch by the clock they lived by. */
export function asleepByClock(clusters: readonly SleepCluster[], day: number): [number, number][] {
  const opening = (offset: number) => midnightAt(day - 1, offset) + sleepRules.dayStartsAtHour * 60 * MINUTE
  return clusters
    .filter(({ wakeDay }) => wakeDay === day)
    .flatMap(({ asleep, offset }) =>
      asleep.map((span) => [span.startAt - opening(offset), span.endAt - opening(offset)]),
    )
    .map(([from = 0, to = 0]): [number, number] => [bounded(from / MINUTE), bounded(to / MINUTE)])
    .filter(([from, to]) => to > from)
}

function bounded(minute: number): number {
  return roundTo(Math.min(1440, Math.max(0, minute)), 3)
}
