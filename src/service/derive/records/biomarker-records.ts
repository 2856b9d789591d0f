import { SECOND } from '../../../base/time/units.ts'
import { sleepDaySpan } from '../day/day-bounds.ts'
import type { BiomarkerValue } from '../days/biomarker-values.ts'
import type { Derivation } from '../days/derivation.ts'
import { type BiomarkerForm, type BiomarkerType, biomarkerForms } from '../model/biomarker-catalogue.ts'
import { lookBacks } from '../model/model.ts'
import { mean, roundTo } from '../model/statistics.ts'
import { trendRules } from '../model/trend-model.ts'
import { type DatedSpan, type Draft, datedDays, datedSpan, dayUnit, draftOf, weekUnit } from './draft.ts'

/** The biomarkers of a day: `intraday` until the day (or the sleep day, which ends at 18:00) is over, then `daily`. */
export function dayBiomarkerDrafts(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts) return []
  return derivation.biomarkerValues(day).map((biomarker) => {
    const form: BiomarkerForm = biomarkerForms[biomarker.type]
    const nightOffset = facts.night?.offset ?? facts.offset
    const span = form.category === 'sleep' ? datedSleepDay(day, nightOffset) : datedDays(day, day, facts.offset)
    const periodicity = derivation.asOfMs > span.endMs ? 'daily' : 'intraday'
    return biomarkerDraft(derivation, biomarker, { span, periodicity, derivationUnit: dayUnit(day) })
  })
}

function datedSleepDay(day: number, offset: number): DatedSpan {
  const { startMs, endMs } = sleepDaySpan(day, offset)
  return datedSpan(startMs, endMs - SECOND, offset)
}

/** Biomarkers that already cover several days: a week takes the last value of the week. */
const carriedTypes: readonly BiomarkerType[] = ['sleep_debt', 'chronotype']

/** Means over the days of a complete week. */
export function weekBiomarkerDrafts(derivation: Derivation, monday: number): Draft[] {
  const days = derivation.series.between(monday, monday + 6)
  const offset = days.at(-1)?.offset
  if (offset === undefined || !derivation.isOver(monday + 6)) return []
  const biomarkers = days.flatMap(({ day }) => derivation.biomarkerValues(day))
  const span = datedDays(monday, monday + 6, offset)
  return [...Map.groupBy(biomarkers, ({ type }) => type)].flatMap(([type, values]) => {
    const value = weekValue(type, values)
    if (value === null) return []
    const biomarker = { type, value, estimated: values.some(({ estimated }) => estimated) }
    return [biomarkerDraft(derivation, biomarker, { span, periodicity: 'weekly', derivationUnit: weekUnit(monday) })]
  })
}

function weekValue(type: BiomarkerType, values: readonly BiomarkerValue[]): number | null {
  const form: BiomarkerForm = biomarkerForms[type]
  const numbers = values.flatMap(({ value }) => (typeof value === 'number' ? [value] : []))
  if (carriedTypes.includes(type)) return numbers.at(-1) ?? null
  const needed = form.category === 'sleep' ? lookBacks.debt.nightsMin : trendRules.validDaysMin
  if (form.category === 'characteristic' || numbers.length < needed) return null
  return mean(numbers)
}

type BiomarkerPeriod = { span: DatedSpan; periodicity: 'intraday' | 'daily' | 'weekly'; derivationUnit: string }

function biomarkerDraft(
  derivation: Derivation,
  { type, value, estimated }: BiomarkerValue,
  { span, periodicity, derivationUnit }: BiomarkerPeriod,
): Draft {
  const form: BiomarkerForm = biomarkerForms[type]
  const { category, unit } = form
  const isMean = periodicity === 'weekly' && !carriedTypes.includes(type)
  const valueType = periodicity === 'weekly' && form.valueType === 'integer' ? 'double' : form.valueType
  return draftOf({
    kind: 'biomarker',
    profileId: derivation.profileId,
    idParts: [type, derivationUnit, periodicity],
    derivationUnit,
    span,
    body: {
      category,
      type,
      periodicity,
      aggregation: isMean ? 'average' : form.aggregation,
      value: valueText(value, valueType),
      unit,
      valueType,
      startDateTime: span.startDateTime,
      endDateTime: span.endDateTime,
      ...(estimated ? { estimated: true } : {}),
    },
  })
}

function valueText(value: number | string, valueType: BiomarkerForm['valueType']): string {
  if (typeof value === 'string') return value
  return String(valueType === 'integer' ? Math.round(value) : roundTo(value, 4))
}
