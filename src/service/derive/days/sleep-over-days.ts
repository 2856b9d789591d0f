import { weekday } from '../../../base/time/local-time.ts'
import { MINUTE } from '../../../base/time/units.ts'
import type { DayFacts } from '../day/facts.ts'
import { ageOn, type Demographics } from '../model/demographics.ts'
import { lookBacks, sleepNeed } from '../model/model.ts'
import { clockDistance, clockMedian, clockMinutes, mean, sum } from '../model/statistics.ts'
import { type DaySeries, personalBaseline } from './day-series.ts'

function needByAge(demographics: Demographics, day: number) {
  const age = ageOn(demographics, day)
  return age !== null && age >= sleepNeed.fromAge ? sleepNeed.older : sleepNeed.usual
}

/** Minutes of sleep that most people of that age need. */
export function sleepNeedOf(demographics: Demographics, day: number): number {
  return needByAge(demographics, day).minutes
}

/** The person's own usual sleep, within what may be right for the age; null while too few nights are known. */
export function ownSleepNeed(series: DaySeries, day: number): number | null {
  const baseline = personalBaseline(series, day, ({ night }) => night?.duration)
  const [least, most] = needByAge(series.demographics, day).range
  return baseline && Math.min(most, Math.max(least, baseline.middle))
}

/**
 * Missing hours over seven nights, against the person's own need. Sleep beyond the need counts half against them; unknown
 * nights count as the average.
 */
export function sleepDebt(series: DaySeries, day: number): number | null {
  const { days, nightsMin } = lookBacks.debt
  const nights = series.between(day - days + 1, day).flatMap(({ night }) => (night ? [night.duration] : []))
  if (!series.at(day)?.night || nights.length < nightsMin) return null
  const need = ownSleepNeed(series, day) ?? sleepNeedOf(series.demographics, day)
  const missing = sum(nights.map((slept) => Math.max(0, need - slept)))
  const surplus = sum(nights.map((slept) => Math.max(0, slept - need)))
  return (Math.max(0, missing - surplus / 2) * days) / nights.length / 60
}

/**
 * The minutes of a stage, or of wakefulness, in the night of a day. Zero minutes are known only where the source recorded
 * some on a night of the last four weeks; a source that never records the stage leaves it unknown.
 */
export function stageMinutes(series: DaySeries, day: number, stage: 'awake' | 'light' | 'deep' | 'rem'): number | null {
  const minutes = series.at(day)?.night?.[stage] ?? null
  if (minutes !== 0) return minutes
  const nights = series.between(day - lookBacks.recording.days + 1, day)
  return nights.some(({ night }) => (night?.[stage] ?? 0) > 0) ? 0 : null
}

type ByClock = DayFacts['asleep']

/** The share of the day's minutes in which two nights agree on asleep or awake. */
export function agreement(a: ByClock, b: ByClock): number {
  const length = (spans: ByClock) => sum(spans.map(([from, to]) => to - from))
  const shared = sum(
    a.flatMap(([from, to]) => b.map(([start, end]) => Math.max(0, Math.min(to, end) - Math.max(from, start)))),
  )
  return (clockMinutes - length(a) - length(b) + 2 * shared) / clockMinutes
}

/**
 * How similar consecutive days are, minute by minute (Phillips 2017): P, from 0 to 1; the sleep regularity index is
 * 200 P - 100. A pair of days counts only if both are known.
 */
export function sleepRegularity(
  nights: readonly DayFacts[],
  { nightsMin, pairsMin }: { nightsMin: number; pairsMin: number },
): number | null {
  const known = nights.filter(({ night }) => night)
  const pairs = known.flatMap((facts, index) => {
    const before = known[index - 1]
    return before && before.day === facts.day - 1 ? [agreement(before.asleep, facts.asleep)] : []
  })
  if (known.length < nightsMin || pairs.length < pairsMin) return null
  return mean(pairs)
}

/** Minutes since local midnight of the middle of a night. */
function midClockOf(night: NonNullable<DayFacts['night']>): number {
  return clockMinutesAt((night.onsetAt + night.wakeAt) / 2, night.offset)
}

/** Like minutesSinceMidnight, but not to the last bit: stored factors change if this divides later (see modelVersion). */
export function clockMinutesAt(ms: number, offset: number): number {
  const minutes = (ms / MINUTE + offset) % clockMinutes
  return (minutes + clockMinutes) % clockMinutes
}

/** A free day: Saturday or Sunday, when most people need not get up. */
function isFreeDay(day: number): boolean {
  return weekday(day) >= 5
}

/** The nights of four weeks before free days and before work days; null with too few nights of either. */
function freeAndWorkNights(series: DaySeries, day: number) {
  const { days, freeNightsMin, workNightsMin } = lookBacks.circadian
  const nights = series
    .between(day - days + 1, day)
    .flatMap(({ day: on, night }) =>
      night ? [{ free: isFreeDay(on), mid: midClockOf(night), slept: night.duration }] : [],
    )
  const [free, work] = [nights.filter((night) => night.free), nights.filter((night) => !night.free)]
  return free.length >= freeNightsMin && work.length >= workNightsMin ? { free, work } : null
}

/**
 * The clock hour (0 to 24) of the middle of sleep on free days, less half of the extra sleep on free days, because extra
 * sleep makes up for the week (Roenneberg's MSFsc). Earlier than 3 is early, later than 5 is late.
 */
export function chronotype(series: DaySeries, day: number): number | null {
  const nights = freeAndWorkNights(series, day)
  if (!nights || !series.at(day)?.night) return null
  const sleptFree = mean(nights.free.map(({ slept }) => slept))
  const sleptWeek = (5 * mean(nights.work.map(({ slept }) => slept)) + 2 * sleptFree) / 7
  const mid = clockMedian(nights.free.map(({ mid }) => mid)) - Math.max(0, sleptFree - sleptWeek) / 2
  return ((mid + clockMinutes) % clockMinutes) / 60
}

/** Minutes between the middle of the night and the usual middle, plus half of the difference of free and work days. */
export function circadianMisalignment(series: DaySeries, day: number): number | null {
  const rules = lookBacks.circadian
  const tonight = series.at(day)?.night
  const mids = series.between(day - rules.days + 1, day).flatMap(({ night }) => (night ? [midClockOf(night)] : []))
  if (!tonight || mids.length < rules.nightsMin) return null
  const usual = clockMedian(mids)
  const split = freeAndWorkNights(series, day)
  const middle = (nights: readonly { mid: number }[]) => clockMedian(nights.map(({ mid }) => mid))
  const jetlag = split ? clockDistance(middle(split.free), middle(split.work)) : 0
  return clockDistance(midClockOf(tonight), usual) + jetlag / 2
}
