import { MINUTE } from '../../window.ts'
import { bodyMeasures } from './body.ts'
import { amountsOn } from './cumulative.ts'
import { dayClock } from './day-clock.ts'
import type { DaySource } from './day-source.ts'
import { sessionsAround } from './exercise.ts'
import type { DayFacts } from './facts.ts'
import { dayAt } from './local-time.ts'
import { movementFacts } from './movement.ts'
import { asleepByClock, mainSleep, napsOf, nightFacts } from './night.ts'
import { sleepClusters } from './sleep-clusters.ts'
import { subtract, union } from './spans.ts'
import { roundTo } from './statistics.ts'
import { vitalMeasures } from './vitals.ts'

/**
 * The facts of one local day, from nothing but the logs that start within `neighbourDays` of it: that bound is what
 * makes deriving one day anew give the same answer as deriving everything. Null when no log tells of the day.
 */
export function dayFacts(source: DaySource): DayFacts | null {
  const clock = dayClock(source.shelf, source.day)
  if (!clock) return null
  const clusters = sleepClusters(source)
  const sessions = sessionsAround(source)
  const movement = movementFacts({ ...source, clock, clusters, sessions })
  const main = mainSleep(clusters, source.day)
  const night = nightFacts(clusters, source.day)
  const naps = napsOf(clusters, source.day)
  const still = { ...source, trace: undefined }
  const awake = subtract([clock.span], union([...clusters.flatMap(({ inBed }) => inBed), ...amountsOn(still, 'steps')]))
  const measures = { ...vitalMeasures({ ...source, main, awake }), ...bodyMeasures(source) }
  const exercise = sessions
    .filter(({ log }) => dayAt(log.startAt, log.startOffset) === source.day)
    .map(({ exercise, startAt, endAt }) => ({ exercise, minutes: roundTo((endAt - startAt) / MINUTE, 3) }))
  const asleep = asleepByClock(clusters, source.day)
  const empty = !movement && asleep.length === 0 && exercise.length === 0 && Object.keys(measures).length === 0
  if (empty) return null
  return { day: source.day, offset: clock.offset, movement, night, naps, asleep, exercise, measures }
}
