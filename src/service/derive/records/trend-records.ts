import { scoreTypes } from '../../../base/contract/score.ts'
import type { Derivation } from '../days/derivation.ts'
import { judgeTrend } from '../days/trend-judgement.ts'
import { factorNames, factorUnits } from '../model/model.ts'
import { mean, roundTo } from '../model/statistics.ts'
import { lowerIsBetter, nightlySubjects, trendRules } from '../model/trend-model.ts'
import { type Draft, datedDays, draftOf, weekUnit } from './draft.ts'

type TrendSubject = {
  readonly category: 'score' | 'factor'
  readonly name: string
  readonly unit: string
  valueOn(day: number): number | null
}
type Week = { readonly monday: number; readonly value: number; readonly change: number | null }

/** The trends over the four weeks that end with this week, once the week is over. */
export function weekTrendDrafts(derivation: Derivation, monday: number): Draft[] {
  const first = monday - 7 * (trendRules.weeks - 1)
  const offset = derivation.series.between(monday, monday + 6).at(-1)?.offset
  if (offset === undefined || !derivation.isOver(monday + 6)) return []
  return trendSubjects(derivation).flatMap((subject) => {
    const weeks = weeksOf(subject, first)
    return weeks.length < trendRules.weeksMin ? [] : [trendDraft(derivation, { subject, weeks, first, monday, offset })]
  })
}

function trendSubjects(derivation: Derivation): TrendSubject[] {
  return [
    ...scoreTypes.map((name) => ({
      category: 'score' as const,
      name,
      unit: 'index',
      valueOn: (day: number) => derivation.scores(day)[name]?.value ?? null,
    })),
    ...factorNames.map((name) => ({
      category: 'factor' as const,
      name,
      unit: factorUnits[name],
      valueOn: (day: number) => derivation.factors(day)[name]?.value ?? null,
    })),
  ]
}

function valuesOf(subject: TrendSubject, first: number, days: number): [day: number, value: number][] {
  return Array.from({ length: days }, (_, index) => first + index).flatMap((day): [number, number][] => {
    const value = subject.valueOn(day)
    return value === null ? [] : [[day, value]]
  })
}

/** Weekly means of the weeks with enough days; the change is against the last such week, as a fraction. */
function weeksOf(subject: TrendSubject, first: number): Week[] {
  const needed = nightlySubjects.includes(subject.name) ? trendRules.validNightsMin : trendRules.validDaysMin
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

type Trend = { subject: TrendSubject; weeks: readonly Week[]; first: number; monday: number; offset: number }

function trendDraft(derivation: Derivation, { subject, weeks, first, monday, offset }: Trend): Draft {
  const { category, name, unit } = subject
  const span = datedDays(first, monday + 6, offset)
  const daysBefore = 7 * trendRules.weeksBefore
  const judgement = judgeTrend({
    name,
    firstDay: first,
    values: valuesOf(subject, first, 7 * trendRules.weeks),
    earlier: valuesOf(subject, first - daysBefore, daysBefore),
  })
  return draftOf({
    kind: 'trend',
    profileId: derivation.profileId,
    idParts: [category, name, weekUnit(monday)],
    derivationUnit: weekUnit(monday),
    span,
    body: {
      type: 'trend',
      category,
      name,
      state: judgement.state,
      isHigherBetter: !lowerIsBetter.includes(name),
      ...(category === 'score' ? { valueRange: { min: 0, max: 1 } } : {}),
      unit,
      periodicity: 'weekly',
      trendStartDateTime: span.startDateTime,
      trendEndDateTime: span.endDateTime,
      data: weeks.map((week) => {
        const { startDateTime, endDateTime } = datedDays(week.monday, week.monday + 6, offset)
        return { startDateTime, endDateTime, value: week.value, percentChangeFromPrevious: week.change }
      }),
      ...(judgement.slopePerWeek === null ? {} : { slopePerWeek: roundTo(judgement.slopePerWeek, 4) }),
      ...(judgement.pValue === null ? {} : { pValue: roundTo(judgement.pValue, 4) }),
      method: 'theil-sen slope, four weeks against twelve before by generalized least squares',
      weeksUsed: weeks.length,
    },
  })
}
