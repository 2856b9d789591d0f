import { type Span, totalMs, union } from '../../../base/time/spans.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { sleepRules } from '../model/model.ts'
import { roundTo } from '../model/statistics.ts'
import { sleepDaySpan } from './day-bounds.ts'
import type { DayMeasure, NightFacts } from './facts.ts'
import type { SleepCluster, SleepStage } from './sleep-clusters.ts'

const minutes = (spans: readonly Span[]) => roundTo(totalMs(spans) / MINUTE, 3)

/** The longest sleep of a day, if it lasts at least three hours. All other sleep of the day is naps. */
export function mainSleep(clusters: readonly SleepCluster[], day: number): SleepCluster | null {
  const dayClusters = clusters.filter(({ wakeDay }) => wakeDay === day)
  const longest = dayClusters.reduce<SleepCluster | null>(
    (best, cluster) => (best && asleepMinutes(best) >= asleepMinutes(cluster) ? best : cluster),
    null,
  )
  return longest && asleepMinutes(longest) >= sleepRules.mainMinutesMin ? longest : null
}

function asleepMinutes(cluster: SleepCluster): number {
  return minutes(cluster.asleep) * (cluster.estimated ? sleepRules.asleepShareOfInBed : 1)
}

/** The facts of a night; null without a main sleep, or when it is so short or so long that the record must be wrong. */
export function nightFacts(clusters: readonly SleepCluster[], day: number): NightFacts | null {
  const main = mainSleep(clusters, day)
  const [minutesMin, minutesMax] = sleepRules.durationMinutes
  if (!main || asleepMinutes(main) < minutesMin || asleepMinutes(main) > minutesMax) return null
  const [onset, wake] = [main.asleep[0], main.asleep.at(-1)]
  if (!onset || !wake) return null
  const bouts = awakeBouts(main, { startMs: onset.startMs, endMs: wake.endMs })
  const recordsAwake = main.hasStages || main.hasAwake
  const inBed = main.hasInBed || main.hasAwake ? minutes(main.inBed) : null
  const minutesIn = (...names: SleepStage[]) => minutes(main.stages.filter(({ stage }) => names.includes(stage)))
  const stage = (name: SleepStage) => (main.hasStages ? minutesIn(name) : null)
  return {
    offset: main.offset,
    onsetAt: onset.startMs,
    wakeAt: wake.endMs,
    duration: roundTo(asleepMinutes(main), 3),
    inBed,
    awake: recordsAwake ? minutesIn('awake', 'out_of_bed') : null,
    light: stage('light'),
    deep: stage('deep'),
    rem: stage('rem'),
    latency: main.hasInBed && !main.estimated ? roundTo((onset.startMs - main.span.startMs) / MINUTE, 3) : null,
    interruptions: recordsAwake ? bouts.length : null,
    awakeAfterOnset: recordsAwake ? minutes(bouts) : null,
    efficiency: inBed && !main.estimated ? roundTo(asleepMinutes(main) / inBed, 4) : null,
    estimated: main.estimated,
  }
}

/** All sleep of a day but its main sleep. */
export function napsOf(clusters: readonly SleepCluster[], day: number): DayMeasure | null {
  const main = mainSleep(clusters, day)
  const naps = clusters.filter((cluster) => cluster.wakeDay === day && cluster !== main)
  const asleep = naps.reduce((total, nap) => total + asleepMinutes(nap), 0)
  if (asleep <= 0) return null
  return { value: roundTo(asleep, 3), ...(naps.some(({ estimated }) => estimated) ? { estimated: true } : {}) }
}

/** Bouts awake between falling asleep and getting up, as far as they were recorded and are long enough to count. */
function awakeBouts(cluster: SleepCluster, within: Span): Span[] {
  const awake = cluster.stages.filter(({ stage }) => stage === 'awake' || stage === 'out_of_bed')
  return union(awake).filter(
    ({ startMs, endMs }) =>
      startMs >= within.startMs && endMs <= within.endMs && endMs - startMs >= sleepRules.awakeBoutMinutesMin * MINUTE,
  )
}

/** When the person slept on a sleep day, in minutes since it began, by the clock in force that night. */
export function asleepByClock(clusters: readonly SleepCluster[], day: number): [number, number][] {
  return clusters
    .filter(({ wakeDay }) => wakeDay === day)
    .flatMap(({ asleep, offset }) => {
      const opensMs = sleepDaySpan(day, offset).startMs
      return asleep.map(({ startMs, endMs }): [number, number] => [
        withinSleepDay((startMs - opensMs) / MINUTE),
        withinSleepDay((endMs - opensMs) / MINUTE),
      ])
    })
    .filter(([from, to]) => to > from)
}

function withinSleepDay(minute: number): number {
  return roundTo(Math.min(1440, Math.max(0, minute)), 3)
}
