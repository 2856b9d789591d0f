import type { DerivedKind } from '../../base/contract/derivation-state.ts'
import { mondayOf, monthOf } from '../../base/time/local-time.ts'
import { neighbourDays } from '../derive/day/logs-by-day.ts'
import { periodMinimums } from '../derive/model/archetype-model.ts'
import { knownForDays, lookBacks } from '../derive/model/model.ts'
import { trendRules } from '../derive/model/trend-model.ts'

/**
 * How far a change reaches. Every rule that looks at other days looks back a bounded number of days, so a change reaches
 * as many days forward and no further. Computed from the numbers of the model, so that both change together.
 */
const outcomeLookBackDays = Math.max(
  lookBacks.strain.days,
  lookBacks.personal.days,
  lookBacks.circadian.days,
  lookBacks.pattern.days,
  lookBacks.recording.days,
  lookBacks.sessions.days,
  knownForDays.body,
  knownForDays.vo2Max,
)
const comparisonLookBackDays = lookBacks.comparison.days
const weeksReplayed = Math.max(periodMinimums.weekly.replayed, trendRules.weeksBefore + trendRules.weeks)
const monthsReplayed = periodMinimums.monthly.replayed

/** The number of days back whose facts are needed to derive all units of a day. */
export const factsLookBackDays = 31 * (monthsReplayed + 1) + outcomeLookBackDays

/** The last day that a change on `day` can change, weeks and months included. */
export function lastDayReached(day: number): number {
  return (
    day + outcomeLookBackDays + Math.max(comparisonLookBackDays, 7 * (weeksReplayed + 1), 31 * (monthsReplayed + 1))
  )
}

/** Those of `days` that are at most `daysMax` days after a changed day, or are changed themselves. Both are ascending. */
function daysFollowing(changed: readonly number[], days: readonly number[], daysMax: number): number[] {
  const followers: number[] = []
  let [index, latest] = [0, Number.NEGATIVE_INFINITY]
  for (const day of days) {
    for (let next = changed[index]; next !== undefined && next <= day; next = changed[index]) {
      latest = next
      index += 1
    }
    if (day - latest <= daysMax) followers.push(day)
  }
  return followers
}

const ascending = (days: Iterable<number>) => [...days].sort((a, b) => a - b)

/** The days whose outcome may change when facts change. A height stays known for good, so it reaches all later days. */
export function outcomeDaysReached(
  { changed, heightFrom }: { changed: Iterable<number>; heightFrom: number },
  knownDays: Iterable<number>,
): number[] {
  const days = ascending(knownDays)
  const near = daysFollowing(ascending(changed), days, outcomeLookBackDays)
  return ascending(new Set([...near, ...days.filter((day) => day >= heightFrom)]))
}

export type DerivationUnits = { days: number[]; compared: number[]; mondays: number[]; months: number[] }

/** The units to derive again when the outcomes of some days changed and time passed over others. */
export function unitsReached(
  { changed, passed }: { changed: Iterable<number>; passed: Iterable<number> },
  knownDays: Iterable<number>,
): DerivationUnits {
  const days = ascending(changed)
  const mondays = new Set([...passed].map(mondayOf))
  const months = new Set([...passed].map((day) => monthOf(day).first))
  for (const day of days) {
    for (let week = 0; week < weeksReplayed; week += 1) mondays.add(mondayOf(day) + 7 * week)
    for (let month = 0; month < monthsReplayed; month += 1) months.add(monthOf(day, month).first)
  }
  const compared = new Set([...days, ...daysFollowing(days, ascending(knownDays), comparisonLookBackDays)])
  return { days, compared: ascending(compared), mondays: ascending(mondays), months: ascending(months) }
}

/** Days that the longest period of a kind spans, from its first to its last local day. */
const periodDays: Readonly<Record<DerivedKind, number>> = {
  score: 1,
  comparison: 1,
  biomarker: 7,
  archetype: 31,
  trend: 7 * trendRules.weeks,
}

/** Days after a changed day in which records of a kind may change. A height stays known for good, and so do its records. */
const daysReachedAfter: Readonly<Record<DerivedKind, number>> = {
  score: outcomeLookBackDays,
  comparison: outcomeLookBackDays + comparisonLookBackDays,
  biomarker: Number.POSITIVE_INFINITY,
  archetype: Number.POSITIVE_INFINITY,
  trend: Number.POSITIVE_INFINITY,
}

/** Local days in any zone, and a night that begins on the day before, lie within this many UTC days of a local day. */
const zoneDays = 1

/** The UTC days that hold every record of a kind which a change of the logs of `firstDay` to `lastDay` can change. */
export function daysReachedByKind(
  kind: DerivedKind,
  { firstDay, lastDay }: { firstDay: number; lastDay: number },
): { first: number; last: number } {
  return {
    first: firstDay - neighbourDays - periodDays[kind] - zoneDays,
    last: lastDay + neighbourDays + daysReachedAfter[kind] + zoneDays,
  }
}
