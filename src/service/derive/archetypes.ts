import { ordinalArchetypes } from '../../contract/archetype.ts'
import { exerciseRanking, gate, hasPattern, metrics, orientation, type Stretch } from './archetype-metrics.ts'
import { consistentFrom, edges, hysteresis, type OrdinalName } from './archetype-model.ts'
import type { Derivation } from './derivation.ts'
import { bandOf, settledBand } from './hysteresis.ts'
import { isoAt, midnightAt, monthOf } from './local-time.ts'
import { type Draft, monthUnit, recordId, weekUnit } from './records.ts'

export function weekArchetypes(derivation: Derivation, monday: number): Draft[] {
  return archetypesOf(derivation, { periodicity: 'weekly', first: monday, last: monday + 6 })
}

export function monthArchetypes(derivation: Derivation, first: number): Draft[] {
  return archetypesOf(derivation, { periodicity: 'monthly', first, last: monthOf(first).last })
}

/** The archetypes of one complete week or month. A later one never changes an earlier. */
function archetypesOf(derivation: Derivation, stretch: Stretch): Draft[] {
  const offset = derivation.daysBetween(stretch.first, stretch.last).at(-1)?.offset
  if (offset === undefined || !derivation.isOver(stretch.last)) return []
  // Object.keys widens the names to strings.
  const names = Object.keys(edges) as OrdinalName[]
  const ordinal = names.flatMap((name) => {
    const ordinality = ordinalityOf(derivation, stretch, name)
    const value = ordinality === null ? undefined : ordinalArchetypes[name][ordinality]
    return ordinality === null || value === undefined ? [] : [{ name, value, dataType: 'ordinal', ordinality }]
  })
  const categorical = categories(derivation, stretch).map((one) => ({ ...one, dataType: 'categorical', ordinality: 0 }))
  return [...ordinal, ...categorical].map((archetype) => draft(derivation, { stretch, offset, archetype }))
}

function ordinalityOf(derivation: Derivation, stretch: Stretch, name: OrdinalName): number | null {
  const clock = name === 'bed_schedule' || name === 'wake_schedule'
  const values = replayed(stretch).map((one) => metrics[name](derivation, one))
  return settledBand(edges[name], values, (edge) => (clock ? hysteresis.clockMinutes : edge * hysteresis.share))
}

/**
 * The periods that a label is settled over, oldest first. A fixed number, so that what was long ago does not have to be
 * derived again to know what holds now.
 */
function replayed(stretch: Stretch): Stretch[] {
  const { periodicity } = stretch
  return Array.from({ length: gate(stretch).replayed }, (_, place) => {
    const back = place - gate(stretch).replayed + 1
    if (periodicity === 'weekly') return { periodicity, first: stretch.first + back * 7, last: stretch.last + back * 7 }
    return { periodicity, ...monthOf(stretch.first, back) }
  })
}

function categories(derivation: Derivation, stretch: Stretch): { name: string; value: string }[] {
  const ranking = exerciseRanking(derivation, stretch)
  const named: [string, string | null | undefined][] = [
    ['primary_exercise', ranking[0]?.exercise],
    ['secondary_exercise', ranking[1]?.exercise],
    ['primary_exercise_type', orientation(ranking)],
    ['sleep_pattern', sleepPattern(derivation, stretch)],
  ]
  return named.flatMap(([name, value]) => (value ? [{ name, value }] : []))
}

/** The first that fits: early to bed, early to rise, very late to bed, and late to rise for the rest. */
function sleepPattern(derivation: Derivation, stretch: Stretch): string | null {
  const [bed, wake] = [metrics.bed_schedule(derivation, stretch), metrics.wake_schedule(derivation, stretch)]
  const regularity = metrics.sleep_regularity(derivation, stretch)
  if (bed === null || wake === null || regularity === null || !hasPattern(derivation, stretch)) return null
  const consistency = regularity >= consistentFrom ? 'consistent' : 'inconsistent'
  return `${consistency}_${scheduleOf(bandOf(edges.bed_schedule, bed), bandOf(edges.wake_schedule, wake))}`
}

function scheduleOf(bed: number, wake: number): string {
  if (bed <= 1) return 'early_sleeper'
  if (wake <= 1) return 'early_riser'
  return bed === 3 ? 'late_sleeper' : 'late_riser'
}

type Archetype = { name: string; value: string; dataType: string; ordinality: number }

function draft(
  derivation: Derivation,
  { stretch, offset, archetype }: { stretch: Stretch; offset: number; archetype: Archetype },
): Draft {
  const { periodicity, first, last } = stretch
  const unit = periodicity === 'weekly' ? weekUnit(first) : monthUnit(first)
  const id = recordId(derivation.profileId, ['archetype', archetype.name, unit])
  const [startAt, endAt] = [midnightAt(first, offset), midnightAt(last, offset)]
  return {
    kind: 'archetype',
    id,
    name: archetype.name,
    category: null,
    periodicity,
    unit,
    startAt,
    endAt,
    body: { id, ...archetype, periodicity, startDateTime: isoAt(startAt, offset), endDateTime: isoAt(endAt, offset) },
  }
}
