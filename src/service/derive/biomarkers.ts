import { HOUR, SECOND } from '../../window.ts'
import { trendRules } from './archetype-model.ts'
import { type BiomarkerForm, type BiomarkerType, biomarkerForms } from './biomarker-catalogue.ts'
import type { Derivation } from './derivation.ts'
import { midnightAt } from './local-time.ts'
import { sleepRules, windows } from './model.ts'
import type { Reading } from './readings.ts'
import { type Draft, dayUnit, type Period, periodOf, recordId, weekUnit, wholeDays } from './records.ts'
import { mean, roundTo } from './statistics.ts'

/** The day's biomarkers: `intraday` while the day (or the sleep day, which ends at 18:00) is not over, then `daily`. */
export function dayBiomarkers(derivation: Derivation, day: number): Draft[] {
  const facts = derivation.factsOn(day)
  if (!facts) return []
  return derivation.readings(day).map((reading) => {
    const form: BiomarkerForm = biomarkerForms[reading.type]
    const nightOffset = facts.night?.offset ?? facts.offset
    const period = form.category === 'sleep' ? sleepDay(day, nightOffset) : wholeDays(day, day, facts.offset)
    const over = derivation.asOf > period.endAt
    return draft(derivation, reading, { period, periodicity: over ? 'daily' : 'intraday', unit: dayUnit(day), day })
  })
}

function sleepDay(day: number, offset: number): Period {
  const opensAt = midnightAt(day - 1, offset) + sleepRules.dayStartsAtHour * HOUR
  const closesAt = midnightAt(day, offset) + sleepRules.dayStartsAtHour * HOUR
  return periodOf(opensAt, closesAt - SECOND, offset)
}

/** Of several days already: a week has the one it ended with. */
const carried: readonly BiomarkerType[] = ['sleep_debt', 'chronotype']

/** Means over the valid days of a complete week. */
export function weekBiomarkers(derivation: Derivation, monday: number): Draft[] {
  const days = derivation.daysBetween(monday, monday + 6)
  const offset = days.at(-1)?.offset
  if (offset === undefined || !derivation.isWeekOver(monday)) return []
  const values = new Map<BiomarkerType, Reading[]>()
  for (const { day } of days) {
    for (const reading of derivation.readings(day))
      values.set(reading.type, [...(values.get(reading.type) ?? []), reading])
  }
  const period = wholeDays(monday, monday + 6, offset)
  return [...values].flatMap(([type, readings]) => {
    const value = weekValue(type, readings)
    if (value === null) return []
    const estimated = readings.some((reading) => reading.estimated)
    return [
      draft(
        derivation,
        { type, value, estimated },
        { period, periodicity: 'weekly', unit: weekUnit(monday), day: monday },
      ),
    ]
  })
}

function weekValue(type: BiomarkerType, readings: readonly Reading[]): number | null {
  const form: BiomarkerForm = biomarkerForms[type]
  const numbers = readings.flatMap(({ value }) => (typeof value === 'number' ? [value] : []))
  if (carried.includes(type)) return numbers.at(-1) ?? null
  const needed = form.category === 'sleep' ? windows.debt.nightsMin : trendRules.validDaysMin
  if (form.category === 'characteristic' || numbers.length < needed) return null
  return mean(numbers)
}

type Place = { period: Period; periodicity: 'intraday' | 'daily' | 'weekly'; unit: string; day: number }

function draft(derivation: Derivation, reading: Reading, { period, periodicity, unit }: Place): Draft {
  const { category, valueType, aggregation, unit: measure }: BiomarkerForm = biomarkerForms[reading.type]
  const id = recordId(derivation.profileId, ['biomarker', reading.type, unit, periodicity])
  const weekly = periodicity === 'weekly' && valueType === 'integer'
  return {
    kind: 'biomarker',
    id,
    name: reading.type,
    category,
    periodicity,
    unit,
    startAt: period.startAt,
    endAt: period.endAt,
    body: {
      id,
      category,
      type: reading.type,
      periodicity,
      aggregation: periodicity === 'weekly' && !carried.includes(reading.type) ? 'average' : aggregation,
      value: written(reading.value, weekly ? 'double' : valueType),
      unit: measure,
      valueType: weekly ? 'double' : valueType,
      startDateTime: period.startDateTime,
      endDateTime: period.endDateTime,
      ...(reading.estimated ? { estimated: true } : {}),
    },
  }
}

function written(value: number | string, valueType: BiomarkerForm['valueType']): string {
  if (typeof value === 'string') return value
  return String(valueType === 'integer' ? Math.round(value) : roundTo(value, 4))
}
