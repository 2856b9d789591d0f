import { periodGates, trendRules } from '../derive/archetype-model.ts'
import { mondayOf, monthOf } from '../derive/local-time.ts'
import { keepDays, windows } from '../derive/model.ts'
import { neighbourDays } from '../derive/shelf.ts'

/**
 * How far a change reaches. Every rule that looks at other days looks back a bounded number of them; so a change reaches
 * as many days forward, and no further. Kept beside nothing but the model's own numbers, so that both change together.
 */
const outcomeLooksBack = Math.max(
  windows.strain.days,
  windows.personal.days,
  windows.circadian.days,
  windows.pattern.days,
  keepDays.body,
  keepDays.vo2Max,
)
const comparisonLooksBack = windows.comparison.days
const weeksReplayed = Math.max(periodGates.weekly.replayed, trendRules.weeks)
const monthsReplayed = periodGates.monthly.replayed

/** The farthest day back that anything derived for a day needs to know. */
export const factsLookBack = 31 * (monthsReplayed + 1) + outcomeLooksBack

/** The last day that a change on `day` can matter to, its weeks and months included. */
export function lastReach(day: number): number {
  return day + outcomeLooksBack + Math.max(comparisonLooksBack, 7 * (weeksReplayed + 1), 31 * (monthsReplayed + 1))
}

/** Days whose facts may change when logs of a day did. */
export function factDaysAround(day: number): number[] {
  return Array.from({ length: 2 * neighbourDays + 1 }, (_, place) => day - neighbourDays + place)
}

/** Days there are that follow one of `changed` within so many days, those themselves included. Both ascending. */
function following(changed: readonly number[], there: readonly number[], daysMax: number): number[] {
  const followers: number[] = []
  let [place, latest] = [0, Number.NEGATIVE_INFINITY]
  for (const day of there) {
    for (let next = changed[place]; next !== undefined && next <= day; next = changed[place]) {
      latest = next
      place += 1
    }
    if (day - latest <= daysMax) followers.push(day)
  }
  return followers
}

const ascending = (days: Iterable<number>) => [...days].sort((a, b) => a - b)

/** Days whose outcome may change when the facts of some days did. A height is kept for good, so it reaches to the end. */
export function outcomeDaysAfter(
  { changed, heightFrom }: { changed: Iterable<number>; heightFrom: number },
  there: Iterable<number>,
): number[] {
  const days = ascending(there)
  const near = following(ascending(changed), days, outcomeLooksBack)
  return ascending(new Set([...near, ...days.filter((day) => day >= heightFrom)]))
}

export type Units = { days: number[]; compared: number[]; mondays: number[]; months: number[] }

/** What to write again when the outcomes of some days changed, and time passed over some others. */
export function unitsAfter(
  { changed, passed }: { changed: Iterable<number>; passed: Iterable<number> },
  there: Iterable<number>,
): Units {
  const days = ascending(changed)
  const mondays = new Set([...passed].map(mondayOf))
  const months = new Set([...passed].map((day) => monthOf(day).first))
  for (const day of days) {
    for (let week = 0; week < weeksReplayed; week += 1) mondays.add(mondayOf(day) + 7 * week)
    for (let month = 0; month < monthsReplayed; month += 1) months.add(monthOf(day, month).first)
  }
  const compared = new Set([...days, ...following(days, ascending(there), comparisonLooksBack)])
  return { days, compared: ascending(compared), mondays: ascending(mondays), months: ascending(months) }
}
