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

/** The nights of four weeks by whether somebody had to get up after them; null with too few of either. */
function freeAndWork(series: Series, day: number) {
  const { days, freeNightsMin, workNightsMin } = windows.circadian
  const nights = series
    .between(day - days + 1, day)
    .flatMap(({ day: on, night }) => (night ? [{ free: isFree(on), mid: midOf(night), slept: night.duration }] : []))
  const [free, work] = [nights.filter((night) => night.free), nights.filter((night) => !night.free)]
  return free.length >= freeNightsMin && work.length >= workNightsMin ? { free, work } : null
}

/**
 * The clock hour (0 to 24) in the middle of sleep on free days, less half of what is slept longer on those than over the
 * week, because that is catching up (Roenneberg's MSFsc). Earlier than 3 is early, later than 5 late.
 */
export function chronotype(series: Series, day: number): number | null {
  const nights = freeAndWork(series, day)
  if (!nights || !series.at(day)?.night) return null
  const sleptFree = mean(nights.free.map(({ slept }) => slept))
  const sleptWeek = (5 * mean(nights.work.map(({ slept }) => slept)) + 2 * sleptFree) / 7
  const mid = clockMedian(nights.free.map(({ mid }) => mid)) - Math.max(0, sleptFree - sleptWeek) / 2
  return ((mid + clockMinutes) % clockMinutes) / 60
}

/** Minutes between the night's middle and the usual one, and half of what free days differ from work days. */
export function circadianMisalignment(series: Series, day: number): number | null {
  const rules = windows.circadian
  const tonight = series.at(day)?.night
  const mids = series.between(day - rules.days + 1, day).flatMap(({ night }) => (night ? [midOf(night)] : []))
  if (!tonight || mids.length < rules.nightsMin) return null
  const usual = clockMedian(mids)
  const split = freeAndWork(series, day)
  const middle = (nights: readonly { mid: number }[]) => clockMedian(nights.map(({ mid }) => mid))
  const jetlag = split ? clockDistance(middle(split.free), middle(split.work)) : 0
  return clockDistance(midOf(tonight), usual) + jetlag / 2
}
