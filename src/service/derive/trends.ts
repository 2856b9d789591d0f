import { scoreTypes } from '../../contract/score.ts'
import { lowerIsBetter, nightly, otherNoise, trendNoise, trendRules } from './archetype-model.ts'
import type { Derivation } from './derivation.ts'
import { type FactorName, units } from './model.ts'
import { type Draft, recordId, weekUnit, wholeDays } from './records.ts'
import { mannKendall, mean, median, roundTo, theilSen } from './statistics.ts'

type Subject = {
  readonly category: 'score' | 'factor'
  readonly name: string
  readonly unit: string
  valueOn(day: number): number | null
}
type Week = { readonly monday: number; readonly value: number; readonly change: number | null }
export type Direction = 'increasing' | 'decreasing' | 'stable'

/** The trends over the four weeks that end with this one, once it is over. */
export function weekTrends(derivation: Derivation, monday: number): Draft[] {
  const first = monday - 7 * (trendRules.weeks - 1)
  const offset = derivation.daysBetween(monday, monday + 6).at(-1)?.offset
  if (offset === undefined || !derivation.isWeekOver(monday)) return []
  return subjects(derivation).flatMap((subject) => {
    const weeks = weeksOf(subject, first)
    return weeks.length < trendRules.weeksMin ? [] : [draft(derivation, { subject, weeks, first, monday, offset })]
  })
}

function subjects(derivation: Derivation): Subject[] {
  // Object.keys widens the names to strings.
  const factors = Object.keys(units) as FactorName[]
  return [
    ...scoreTypes.map((name) => ({
      category: 'score' as const,
      name,
      unit: 'index',
      valueOn: (day: number) => derivation.scores(day)[name]?.value ?? null,
    })),
    ...factors.map((name) => ({
      category: 'factor' as const,
      name,
      unit: units[name],
      valueOn: (day: number) => derivation.factors(day)[name]?.value ?? null,
    })),
  ]
}

function valuesOf(subject: Subject, first: number, days: number): [day: number, value: number][] {
  return Array.from({ length: days }, (_, place) => first + place).flatMap((day): [number, number][] => {
    const value = subject.valueOn(day)
    return value === null ? [] : [[day, value]]
  })
}

/** Weekly means of the weeks that have days enough; the change is against the last such week, as a fraction. */
function weeksOf(subject: Subject, first: number): Week[] {
  const needed = nightly.includes(subject.name) ? trendRules.validNightsMin : trendRules.validDaysMin
  const weeks: Week[] = []
  for (let week = 0; week < trendRules.weeks; week += 1) {
    const values = valuesOf(subject, first + 7 * week, 7).map(([, value]) => value)
    if (values.length < needed) continue
    const value = roundTo(mean(values), 4)
    const before = weeks.at(-1)?.value
    const change = before === undefined || before === 0 ? null : roundTo((value - before) / Math.abs(before), 4)
    weeks.push({ monday: first + 7 * week, value, change })
  }
  return weeks
}

export type Verdict = { state: Direction; slopePerWeek: number | null; pValue: number | null }

/**
 * Up or down only when the daily values say so (a slope worth the name, and hardly by chance), or when the last week
 * differs from the one before by more than weeks do in which nothing changed. Steps are so noisy that a decline of a
 * third is seen one time in four.
 */
export function judge(
  values: readonly (readonly [number, number])[],
  lastChange: number | null,
  name: string,
): Verdict {
  const noise = trendNoise[name] ?? otherNoise
  const enough = values.length >= trendRules.valuesMin
  const slope = enough ? theilSen(values) : null
  const pValue = enough ? mannKendall(values.map(([, value]) => value)) : null
  const middle = median(values.map(([, value]) => value))
  const slopePerWeek = slope === null ? null : slope * 7
  if (slope !== null && pValue !== null && middle !== 0 && pValue < trendRules.pMax) {
    const change = (slope * trendRules.slopeDays) / Math.abs(middle)
    if (Math.abs(change) >= noise.slope)
      return { state: change > 0 ? 'increasing' : 'decreasing', slopePerWeek, pValue }
  }
  if (lastChange !== null && Math.abs(lastChange) >= noise.jump) {
    return { state: lastChange > 0 ? 'increasing' : 'decreasing', slopePerWeek, pValue }
  }
  return { state: 'stable', slopePerWeek, pValue }
}

type Trend = { subject: Subject; weeks: readonly Week[]; first: number; monday: number; offset: number }

function draft(derivation: Derivation, { subject, weeks, first, monday, offset }: Trend): Draft {
  const { category, name, unit } = subject
  const whole = wholeDays(first, monday + 6, offset)
  const last = weeks.at(-1)
  const verdict = judge(
    valuesOf(subject, first, 7 * trendRules.weeks),
    last?.monday === monday ? last.change : null,
    name,
  )
  const id = recordId(derivation.profileId, ['trend', category, name, weekUnit(monday)])
  return {
    kind: 'trend',
    id,
    name,
    category,
    periodicity: 'weekly',
    unit: weekUnit(monday),
    startAt: whole.startAt,
    endAt: whole.endAt,
    body: {
      id,
      type: 'trend',
      category,
      name,
      state: verdict.state,
      isHigherBetter: !lowerIsBetter.includes(name),
      ...(category === 'score' ? { valueRange: { min: 0, max: 1 } } : {}),
      unit,
      periodicity: 'weekly',
      trendStartDateTime: whole.startDateTime,
      trendEndDateTime: whole.endDateTime,
      data: weeks.map((week) => {
        const { startDateTime, endDateTime } = wholeDays(week.monday, week.monday + 6, offset)
        return { startDateTime, endDateTime, value: week.value, percentChangeFromPrevious: week.change }
      }),
      ...(verdict.slopePerWeek === null ? {} : { slopePerWeek: roundTo(verdict.slopePerWeek, 4) }),
      ...(verdict.pValue === null ? {} : { pValue: roundTo(verdict.pValue, 4) }),
      method: 'theil-sen, mann-kendall, week against week',
      weeksUsed: weeks.length,
    },
  }
}
