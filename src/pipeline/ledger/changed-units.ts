import { overlaps, type Span } from '../../base/time/spans.ts'

/** A day with a record whose unit is not the known one, and how many readings in a row held the same units. */
export type UnitDoubt = Span & { readonly units: readonly string[]; readonly readings: number }

/** After how many further readings a changed unit counts as meant. */
export const UNIT_READINGS = 3

/** How many days are remembered of one ledger row: the newest. An older day has settled, or is read no more. */
const DOUBTS_MAX = 200

/**
 * Which days of a reading are suspicious, because their records came in another unit: they settle once UNIT_READINGS further readings
 * held the same units, or once these are accepted. A day that comes in its known unit again is suspicious no more.
 */
export function judgeUnits(
  reading: {
    readonly window: Span
    /** Upstream said that nothing has changed: there are no days. */
    readonly unchanged: boolean
    readonly isOvertaken: boolean
    /** Records of the window are missing: the reading raises suspicion, and neither confirms nor ends one. */
    readonly isPartial: boolean
    readonly days: ReadonlyArray<Omit<UnitDoubt, 'readings'>>
  },
  before: readonly UnitDoubt[],
  isAccepted: (unit: string) => boolean,
): { readonly doubts: readonly UnitDoubt[]; readonly suspicious: readonly Span[] } {
  const { window, unchanged, isOvertaken, isPartial, days } = reading
  const open = before.filter(({ units }) => !units.every(isAccepted))
  const dayOf = new Map(days.map((day) => [day.startMs, day]))
  const isWithin = ({ startMs, endMs }: Span) => startMs >= window.startMs && endMs <= window.endMs
  const readAgain = open.flatMap((doubt): UnitDoubt[] => {
    if (isOvertaken || !overlaps(doubt, window)) return [doubt]
    const day = dayOf.get(doubt.startMs)
    if (isPartial && (day?.units ?? []).every((unit) => doubt.units.includes(unit))) return [doubt]
    if (!unchanged && day === undefined) return isWithin(doubt) ? [] : [doubt]
    const isSame = day === undefined || day.units.join('\n') === doubt.units.join('\n')
    if (!isSame) return []
    return [
      {
        ...doubt,
        endMs: Math.max(doubt.endMs, day?.endMs ?? 0),
        readings: Math.min(doubt.readings + 1, UNIT_READINGS + 1),
      },
    ]
  })
  const known = new Set(readAgain.map(({ startMs }) => startMs))
  const first = isOvertaken ? [] : days.filter(({ startMs, units }) => !known.has(startMs) && !units.every(isAccepted))
  const doubts = [...readAgain, ...first.map((day) => ({ ...day, readings: 1 }))]
    .toSorted((a, b) => a.startMs - b.startMs)
    .slice(-DOUBTS_MAX)
  return {
    doubts,
    suspicious: doubts.filter((doubt) => doubt.readings <= UNIT_READINGS && overlaps(doubt, window)),
  }
}
