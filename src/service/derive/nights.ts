import type { DayFacts } from './facts.ts'
import { weekday } from './local-time.ts'
import { ageOn, type Person } from './log.ts'
import { sleepNeed, windows } from './model.ts'
import type { Series } from './series.ts'
import { clockDistance, clockMedian, clockMinutes, mean, sum } from './statistics.ts'

/** Minutes of sleep a person of that age needs. */
export function needOf(person: Person, day: number): number {
  const age = ageOn(person, day)
  return age !== null && age >= sleepNeed.fromAge ? sleepNeed.older : sleepNeed.usual
}

/** Hours short over seven nights: sleep beyond the need pays back half. Missing nights are taken to be like the others. */
export function sleepDebt(series: Series, day: number): number | null {
  const { days, nightsMin } = windows.debt
  const nights = series.between(day - days + 1, day).flatMap(({ night }) => (night ? [night.duration] : []))
  if (!series.at(day)?.night || nights.length < nightsMin) return null
  const need = needOf(series.person, day)
  const short = sum(nights.map((slept) => Math.max(0, need - slept)))
  const over = sum(nights.map((slept) => Math.max(0, slept - need)))
  return (Math.max(0, short - over / 2) * days) / nights.length / 60
}

type ByClock = DayFacts['asleep']

/** Share of the day's minutes in which two nights agree on asleep or awake. */
export function agreement(a: ByClock, b: ByClock): number {
  const length = (spans: ByClock) => sum(spans.map(([from, to]) => to - from))
  const shared = sum(
    a.flatMap(([from, to]) => b.map(([start, end]) => Math.max(0, Math.min(to, end) - Math.max(from, start)))),
  )
  return (clockMinutes - length(a) - length(b) + 2 * shared) / clockMinutes
}

/**
 * How alike consecutive days are, minute by minute (Phillips 2017): P, from 0 to 1; the sleep regularity index is
 * 200 P - 100. Only pairs of days of which both are known count.
 */
export function sleepRegularity(
  nights: readonly DayFacts[],
  gates: { nightsMin: number; pairsMin: number },
): number | null {
  const known = nights.filter(({ night }) => night)
  const pairs = known.flatMap((facts, place) => {
    const before = known[place - 1]
    return before && before.day === facts.day - 1 ? [agreement(before.asleep, facts.asleep)] : []
  })
  if (known.length < gates.nightsMin || pairs.length < gates.pairsMin) return null
  return mean(pairs)
}

/** Minutes since local midnight of the middle of a night. */
export function midOf(night: NonNullable<DayFacts['night']>): number {
  return clockOf((night.onsetAt + night.wakeAt) / 2, night.offset)
}

export function clockOf(at: number, offset: number): number {
  const minutes = (at / 60_000 + offset) % clockMinutes
  return (minutes + clockMinutes) % clockMinutes
}

/** Saturday and Sunday mornings are those on which nobody has to get up. */
export function isFree(day: number): boolean {
  return weekday(day) >= 5
}

/** Minutes between the night's middle and the usual one, and half of what free days differ from work days. */
export function circadianMisalignment(series: Series, day: number): number | null {
  const rules = windows.circadian
  const tonight = series.at(day)?.night
  const nights = series
    .between(day - rules.days + 1, day)
    .flatMap(({ day: on, night }) => (night ? [{ on, mid: midOf(night) }] : []))
  if (!tonight || nights.length < rules.nightsMin) return null
  const usual = clockMedian(nights.map(({ mid }) => mid))
  const free = nights.filter(({ on }) => isFree(on)).map(({ mid }) => mid)
  const work = nights.filter(({ on }) => !isFree(on)).map(({ mid }) => mid)
  const jetlag =
    free.length >= rules.freeNightsMin && work.length >= rules.workNightsMin
      ? clockDistance(clockMedian(free), clockMedian(work))
      : 0
  return clockDistance(midOf(tonight), usual) + jetlag / 2
}
