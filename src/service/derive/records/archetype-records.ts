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
import { bandOf, settledBand } from '../days/hysteresis.ts'
import {
  archetypeThresholds,
  consistentFrom,
  hysteresis,
  type OrdinalName,
  ordinalNames,
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
  const categorical = categories(derivation, period).map((one) => ({ ...one, dataType: 'categorical', ordinality: 0 }))
  return [...ordinal, ...categorical].map((archetype) => archetypeDraft(derivation, { period, offset, archetype }))
}

function ordinalityOf(derivation: Derivation, period: CalendarPeriod, name: OrdinalName): number | null {
  const isClock = name === 'bed_schedule' || name === 'wake_schedule'
  const values = replayedPeriods(period).map((one) => archetypeMetric(derivation, one, name))
  const leastMargin = (threshold: number) => (isClock ? hysteresis.clockMinutes : threshold * hysteresis.share)
  return settledBand(archetypeThresholds[name], values, { ...hysteresis, leastMargin })
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

/** The first pattern that fits: early to bed, early to rise, very late to bed, and for all others late to rise. */
function sleepPattern(derivation: Derivation, period: CalendarPeriod): string | null {
  const [bed, wake] = [
    archetypeMetric(derivation, period, 'bed_schedule'),
    archetypeMetric(derivation, period, 'wake_schedule'),
  ]
  const regularity = archetypeMetric(derivation, period, 'sleep_regularity')
  if (bed === null || wake === null || regularity === null || !hasPattern(derivation, period)) return null
  const consistency = regularity >= consistentFrom ? 'consistent' : 'inconsistent'
  return `${consistency}_${scheduleOf(bandOf(archetypeThresholds.bed_schedule, bed), bandOf(archetypeThresholds.wake_schedule, wake))}`
}

function scheduleOf(bed: number, wake: number): string {
  if (bed <= 1) return 'early_sleeper'
  if (wake <= 1) return 'early_riser'
  return bed === 3 ? 'late_sleeper' : 'late_riser'
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
    name: archetype.name,
    category: null,
    periodicity,
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
