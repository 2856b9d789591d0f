import { ordinalArchetypes } from '../../../base/contract/archetype.ts'
import { isoText, midnightMs, monthOf } from '../../../base/time/local-time.ts'
import {
  archetypeMetric,
  type CalendarPeriod,
  exerciseRanking,
  hasPattern,
  minimumsOf,
  orientation,
} from '../days/archetype-metrics.ts'
import type { Derivation } from '../days/derivation.ts'
import { settledBand } from '../days/hysteresis.ts'
import {
  archetypeThresholds,
  consistentFrom,
  type OrdinalName,
  ordinalNames,
  usualDeviation,
} from '../model/archetype-model.ts'
import { type Draft, draftOf, monthUnit, weekUnit } from './draft.ts'

export function weekArchetypeDrafts(derivation: Derivation, monday: number): Draft[] {
  return archetypesOf(derivation, { periodicity: 'weekly', first: monday, last: monday + 6 })
}

export function monthArchetypeDrafts(derivation: Derivation, first: number): Draft[] {
  return archetypesOf(derivation, { periodicity: 'monthly', first, last: monthOf(first).last })
}

/** The archetypes of one complete week or month. A later period never changes an earlier period. */
function archetypesOf(derivation: Derivation, period: CalendarPeriod): Draft[] {
  const offset = derivation.series.between(period.first, period.last).at(-1)?.offset
  if (offset === undefined || !derivation.isOver(period.last)) return []
  const ordinal = ordinalNames.flatMap((name) => {
    const ordinality = ordinalityOf(derivation, period, name)
    const value = ordinality === null ? undefined : ordinalArchetypes[name][ordinality]
    return ordinality === null || value === undefined ? [] : [{ name, value, dataType: 'ordinal', ordinality }]
  })
  const categorical = categories(derivation, period).map((category) => ({
    ...category,
    dataType: 'categorical',
    ordinality: 0,
  }))
  return [...ordinal, ...categorical].map((archetype) => archetypeDraft(derivation, { period, offset, archetype }))
}

/** The band of a metric in a period, with hysteresis. */
function ordinalityOf(
  derivation: Derivation,
  period: CalendarPeriod,
  name: OrdinalName,
  thresholds: readonly number[] = archetypeThresholds[name],
): number | null {
  const values = replayedPeriods(period).map((replayed) => archetypeMetric(derivation, replayed, name))
  return settledBand(thresholds, values, usualDeviation(name, period.periodicity))
}

/**
 * The periods over which the hysteresis runs, oldest first. Their number is fixed, so that an archetype never depends on
 * periods longer ago.
 */
function replayedPeriods(period: CalendarPeriod): CalendarPeriod[] {
  const { periodicity } = period
  return Array.from({ length: minimumsOf(period).replayed }, (_, index) => {
    const back = index - minimumsOf(period).replayed + 1
    if (periodicity === 'weekly') return { periodicity, first: period.first + back * 7, last: period.last + back * 7 }
    return { periodicity, ...monthOf(period.first, back) }
  })
}

function categories(derivation: Derivation, period: CalendarPeriod): { name: string; value: string }[] {
  const ranking = exerciseRanking(derivation, period)
  const named: [string, string | null | undefined][] = [
    ['primary_exercise', ranking[0]?.exercise],
    ['secondary_exercise', ranking[1]?.exercise],
    ['primary_exercise_type', orientation(ranking)],
    ['sleep_pattern', sleepPattern(derivation, period)],
  ]
  return named.flatMap(([name, value]) => (value ? [{ name, value }] : []))
}

/** Each part of the pattern has its own hysteresis. */
function sleepPattern(derivation: Derivation, period: CalendarPeriod): string | null {
  const bed = ordinalityOf(derivation, period, 'bed_schedule')
  const wake = ordinalityOf(derivation, period, 'wake_schedule')
  const regular = ordinalityOf(derivation, period, 'sleep_regularity', [consistentFrom])
  if (bed === null || wake === null || regular === null || !hasPattern(derivation, period)) return null
  return sleepPatternOf({ bed, wake, regular })
}

/** The first pattern that fits: early to bed, early to rise, very late to bed, and for all others late to rise. */
export function sleepPatternOf({ bed, wake, regular }: { bed: number; wake: number; regular: number }): string {
  const consistency = regular === 1 ? 'consistent' : 'inconsistent'
  if (bed <= 1) return `${consistency}_early_sleeper`
  if (wake <= 1) return `${consistency}_early_riser`
  return `${consistency}_${bed === 3 ? 'late_sleeper' : 'late_riser'}`
}

type Archetype = { name: string; value: string; dataType: string; ordinality: number }

function archetypeDraft(
  derivation: Derivation,
  { period, offset, archetype }: { period: CalendarPeriod; offset: number; archetype: Archetype },
): Draft {
  const { periodicity, first, last } = period
  const unit = periodicity === 'weekly' ? weekUnit(first) : monthUnit(first)
  const span = { startMs: midnightMs(first, offset), endMs: midnightMs(last, offset) }
  return draftOf({
    kind: 'archetype',
    profileId: derivation.profileId,
    idParts: [archetype.name, unit],
    derivationUnit: unit,
    span,
    body: {
      ...archetype,
      periodicity,
      startDateTime: isoText(span.startMs, offset),
      endDateTime: isoText(span.endMs, offset),
    },
  })
}
